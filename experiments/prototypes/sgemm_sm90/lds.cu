// Cycles of an SM for one LDS.128 of a warp, by how its lanes share addresses. nvcc -O3 -arch=sm_90a lds.cu -o lds
#include <cstdio>
__device__ int unit(int pattern, int lane) {
  switch (pattern) {
    case 0:
      return lane;  // 32 distinct quads
    case 1:
      return lane / 4;  // 8, neighbours share
    case 2:
      return lane % 4;  // 4
    case 3:
      return lane / 8;  // 4, neighbours share
    case 4:
      return lane % 8;  // 8
    case 5:
      return 0;  // 1
    case 6:
      return lane / 2 % 8;  // 8
    case 7:
      return lane % 2 + lane / 16 * 2;  // 4
    case 8:
      return lane / 2;  // 16
    case 9:
      return lane % 16;  // 16
    case 10:
      return lane / 16;  // 2
    default:
      return lane % 2;  // 2
  }
}
__global__ void kernel(int pattern, long long* out, float* sink) {
  __shared__ float4 shared[2048];
  for (int i = threadIdx.x; i < 2048; i += blockDim.x) shared[i] = make_float4(i, 1, 2, 3);
  __syncthreads();
  unsigned at = __cvta_generic_to_shared(shared) + 8192 + unit(pattern, threadIdx.x % 32) * 16;
  float s[8] = {};
  const long long t0 = clock64();
#pragma unroll 1
  for (int r = 0; r < 200; ++r) {
    at = r % 2 ? at + 8192 : at - 8192;
#pragma unroll
    for (int i = 0; i < 16; ++i) {  // two halves in turn, so that no load stays the same
      float x, y, z, w;
      asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(x), "=f"(y), "=f"(z), "=f"(w) : "r"(at + i * 512));
      s[i % 4] += x, s[i % 4 + 4] += y, s[i % 4] += z, s[i % 4 + 4] += w;
    }
  }
  __syncthreads();
  const long long t1 = clock64();
  if (threadIdx.x == 0) out[pattern] = t1 - t0;
  for (int i = 0; i < 8; ++i) sink[threadIdx.x] += s[i];
}
int main() {
  long long* out;
  float* sink;
  cudaMalloc(&out, 96);
  cudaMalloc(&sink, 4096);
  const char* names[] = {"l", "l/4", "l%4", "l/8", "l%8", "0", "l/2%8", "l%2+l/16*2", "l/2", "l%16", "l/16", "l%2"};
  for (int p = 0; p < 12; ++p) kernel<<<1, 256>>>(p, out, sink), kernel<<<1, 256>>>(p, out, sink);
  if (cudaDeviceSynchronize() != cudaSuccess) return 1;
  long long host[12];
  cudaMemcpy(host, out, 96, cudaMemcpyDeviceToHost);
  for (int p = 0; p < 12; ++p) std::printf("LDS.128 %s: %.2f; ", names[p], double(host[p]) / (200.0 * 16 * 8));
  std::printf("cycles of the SM a warp\n");
}
