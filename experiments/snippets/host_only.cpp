// Calls of CUDA's API and a vector type, without a kernel, for the host's own compiler.
#include <cuda_runtime_api.h>
#include <vector_functions.h>
#include <vector_types.h>

int3 zeros(int** array, int count) {
  cudaMalloc(reinterpret_cast<void**>(array), sizeof(int) * count);
  cudaMemset(*array, 0, sizeof(int) * count);
  return make_int3(count, 1, 1);
}
