/// How a failure of CUDA is reported: the call, CUDA's text and name for the error, and whether the process can
/// continue.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

namespace rung {

/// "out of memory (cudaErrorMemoryAllocation)"
std::string cuda_words(cudaError_t error);

/// Throws for a failed call, after clearing CUDA's record of it. Error "`asked`: …" if only this call failed, such as a
/// launch with a shape that the GPU does not support. DeviceLost "failed while running: …" if earlier work, detected
/// only here, left the process without its GPU: an illegal address, a timeout.
[[noreturn]] void throw_cuda(cudaError_t error, const char* asked);

inline void check_cuda(cudaError_t error, const char* asked) {
  if (error != cudaSuccess) throw_cuda(error, asked);
}

}  // namespace rung
