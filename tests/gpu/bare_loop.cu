/// The reference for the GPU harness: a kernel of the suite in the simplest event-timed loop.
/// `cmake --build build --target bare_loop` builds it.
///   bare_loop [N]     prints the median GFLOP/s of the 32-wide tiled kernel; `rung run` must agree within 3 %
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "gpu/matmul/tiled.cu"

int main(int argc, char** argv) {
  const int n = argc > 1 ? std::atoi(argv[1]) : 4096;
  const rung::Params params{{"m", n}, {"n", n}, {"k", n}, {"tile", 32}};
  const rung::Kernel& kernel = rung::kernels().front();
  std::vector<float> host(std::size_t(n) * n);
  for (float& x : host) x = float(std::rand()) / float(RAND_MAX) - 0.5f;
  rung::Call call{.params = params, .launch = kernel.gpu.launch(params)};
  for (int i = 0; i < 3; ++i) {
    void* memory = nullptr;
    cudaMalloc(&memory, host.size() * sizeof(float));
    cudaMemcpy(memory, host.data(), host.size() * sizeof(float), cudaMemcpyHostToDevice);
    call.operands.push_back(memory);
  }
  cudaEvent_t start, stop;
  cudaEventCreate(&start);
  cudaEventCreate(&stop);
  kernel.run(call);
  std::vector<float> milliseconds(21);
  for (float& sample : milliseconds) {
    cudaEventRecord(start);
    kernel.run(call);
    cudaEventRecord(stop);
    cudaEventSynchronize(stop);
    cudaEventElapsedTime(&sample, start, stop);
  }
  std::sort(milliseconds.begin(), milliseconds.end());
  if (cudaGetLastError() != cudaSuccess) return 1;
  std::printf("%s n:%d bare loop %.1f GFLOP/s\n", kernel.name.c_str(), n, 2.0 * n * n * n / milliseconds[10] * 1e-6);
}
