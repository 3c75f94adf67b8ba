// A shared array of a little more than 48 KB.
__global__ void f(float* out) {
  __shared__ float data[48 * 256 + 1];
  data[threadIdx.x] = out[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = data[48 * 256 - threadIdx.x];
}
