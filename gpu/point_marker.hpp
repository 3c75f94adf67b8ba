/// What a profiler sees of a point: ncu is started with `--profile-from-start off` (experiments/profile.sh).
#pragma once

#include <cuda_runtime_api.h>

namespace rung {

/// While it lives, the profiler watches what this process launches.
class Watched {
 public:
  Watched();
  ~Watched();
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;
};

/// Launches an empty kernel, `rung_point_begins`: the watched kernels up to the next one are those of one point
/// (report/counters.py reads them so). Waits for it.
void mark_point(cudaStream_t stream);

}  // namespace rung
