// The lecture's example convolve: no semicolon after the barrier.
__global__ void convolve(float* image, int i, int j) {
  __shared__ float region[32];
  region[threadIdx.x] = image[i];

#ifdef MENDED
  __syncthreads();
#else
  __syncthreads()
#endif

  image[j] = region[0];
}
