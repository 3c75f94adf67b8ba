/// A mark in the list of kernels that a profiler makes.
#pragma once

#include <cuda_runtime_api.h>

namespace rung {

/// Launches an empty kernel, `rung_point_begins`: the kernels up to the next one are those of one point
/// (report/counters.py reads them so). Waits for it.
void mark_point(cudaStream_t stream);

}  // namespace rung
