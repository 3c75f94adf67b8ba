// Shared memory whose size the launch sets.
__global__ void reverse(float* numbers) {
  extern __shared__ float copy[];
  copy[threadIdx.x] = numbers[threadIdx.x];
  __syncthreads();
  numbers[threadIdx.x] = copy[blockDim.x - 1 - threadIdx.x];
}

void start(float* numbers, int count) { reverse<<<1, count, count * sizeof(float)>>>(numbers); }
