// The host writes and reads global and constant memory.
__device__ float everywhere[32];
__constant__ float fixed[32];

void copy(float* numbers, float* global) {
  cudaMemcpyToSymbol(fixed, numbers, 32 * sizeof(float));
  cudaMemcpyFromSymbol(numbers, fixed, 32 * sizeof(float));
  cudaMemcpyToSymbol(everywhere, numbers, 32 * sizeof(float));
  cudaMemcpyFromSymbol(numbers, everywhere, 32 * sizeof(float));
  cudaMemcpy(global, numbers, 32 * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(numbers, global, 32 * sizeof(float), cudaMemcpyDeviceToHost);
}
