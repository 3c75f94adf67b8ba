// The lecture's example convolve: a void* for a kernel that takes a float*.
__global__ void convolve(float* image);

void start(size_t bytes) {
#ifdef MENDED
  float* myimage = nullptr;
#else
  void* myimage = nullptr;
#endif
  cudaMalloc(&myimage, bytes);
  convolve<<<100, 10>>>(myimage);
}
