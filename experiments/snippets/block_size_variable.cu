// The block's size by the name that a slide gives it.
__global__ void update(float* data, int cells) {
#ifdef MENDED
  int i = threadIdx.x + blockIdx.x * blockDim.x;
  int j = threadIdx.y + blockIdx.y * blockDim.y;
#else
  int i = threadIdx.x + blockIdx.x * blockSize.x;
  int j = threadIdx.y + blockIdx.y * blockSize.y;
#endif
  data[i + j * cells] = 0;
}
