// The example of the lecture: an array indexed by threadIdx as a whole.
__global__ void convolve(const float* image) {
  __shared__ float region[32];
#ifdef MENDED
  region[threadIdx.x] = image[0];
#else
  region[threadIdx] = image[0];
#endif
}
