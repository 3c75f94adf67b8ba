// The block's size by the name that a slide gives it.
__global__ void update(float* data, int cells) {
  int i = threadIdx.x + blockIdx.x * blockSize.x;
  int j = threadIdx.y + blockIdx.y * blockSize.y;
  data[i + j * cells] = 0;
}
