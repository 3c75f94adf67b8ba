#include "gpu/host/cuda_error.hpp"

#include "common/machine/target.hpp"

namespace rung {

std::string cuda_words(cudaError_t error) {
  return std::string(cudaGetErrorString(error)) + " (" + cudaGetErrorName(error) + ")";
}

void throw_cuda(cudaError_t error, const char* asked) {
  cudaGetLastError();
  // An error of a call is cleared now. An error of the GPU's work is not: CUDA returns it from every later call.
  if (const cudaError_t lasting = cudaDeviceSynchronize(); lasting != cudaSuccess)
    throw DeviceLost("failed while running: " + cuda_words(lasting));
  throw Error(std::string(asked) + ": " + cuda_words(error));
}

}  // namespace rung
