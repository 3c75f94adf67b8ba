// The four types of a transfer.
void copy(void* to, const void* from, size_t bytes) {
  cudaMemcpy(to, from, bytes, cudaMemcpyHostToHost);
  cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice);
  cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost);
  cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToDevice);
}
