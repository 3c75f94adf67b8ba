// The lecture's list of cudaMemcpy's parameters: pointer to source, pointer to destination, bytes, type of transfer.
void copy(const float* source, float* destination, size_t bytes) {
#ifdef MENDED
  cudaMemcpy(destination, source, bytes, cudaMemcpyHostToDevice);
#else
  cudaMemcpy(source, destination, bytes, cudaMemcpyHostToDevice);
#endif
}
