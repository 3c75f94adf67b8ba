/// How a failure of CUDA is told: what was asked, CUDA's words and CUDA's name for it, and whether the process can go
/// on.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

namespace rung {

/// "out of memory (cudaErrorMemoryAllocation)"
std::string cuda_words(cudaError_t error);

/// Throws for a failed call, after clearing CUDA's record of it. Error "`asked`: …" if only this call failed, as a
/// launch with a shape that the GPU does not have. DeviceLost "failed while running: …" if something that ran before,
/// and was only noticed here, left the process without its GPU: an illegal address, a timeout.
[[noreturn]] void throw_cuda(cudaError_t error, const char* asked);

inline void check_cuda(cudaError_t error, const char* asked) {
  if (error != cudaSuccess) throw_cuda(error, asked);
}

}  // namespace rung
