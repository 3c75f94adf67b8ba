// Shared memory declared with a size that is known only at run time.
__global__ void reverse(float* numbers, int count) {
  __shared__ float copy[count];
  copy[threadIdx.x] = numbers[threadIdx.x];
  __syncthreads();
  numbers[threadIdx.x] = copy[count - 1 - threadIdx.x];
}
