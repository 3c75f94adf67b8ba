/// Time on the GPU's own clock, and the bus between it and the host.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>

#include "gpu/host/cuda_error.hpp"

namespace rung {

/// Two events on a stream and the time between them.
class Stopwatch {
 public:
  Stopwatch() {
    check_cuda(cudaEventCreate(&start_), "creating an event");
    check_cuda(cudaEventCreate(&stop_), "creating an event");
  }
  ~Stopwatch() {
    cudaEventDestroy(start_);
    cudaEventDestroy(stop_);
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

  void start(cudaStream_t stream) { check_cuda(cudaEventRecord(start_, stream), "recording an event"); }
  void stop(cudaStream_t stream) { check_cuda(cudaEventRecord(stop_, stream), "recording an event"); }
  /// Waits for the stop.
  double seconds() const {
    float milliseconds = 0;
    check_cuda(cudaEventSynchronize(stop_), "waiting for the GPU");
    check_cuda(cudaEventElapsedTime(&milliseconds, start_, stop_), "reading an event");
    return milliseconds * 1e-3;
  }

 private:
  cudaEvent_t start_ = nullptr, stop_ = nullptr;
};

/// One chunk of page-locked host memory and one on the device, between which copies are timed.
class Bus {
 public:
  static constexpr std::size_t kPinnedBytes = std::size_t{64} << 20;  // enough for the bus to reach its full rate

  Bus() {
    check_cuda(cudaHostAlloc(&host_, kPinnedBytes, cudaHostAllocDefault), "allocating pinned memory");
    if (const cudaError_t error = cudaMalloc(&device_, kPinnedBytes); error != cudaSuccess) {
      cudaFreeHost(host_);
      throw_cuda(error, "allocating GPU memory");
    }
  }
  ~Bus() {
    cudaFreeHost(host_);
    cudaFree(device_);
  }
  Bus(const Bus&) = delete;
  Bus& operator=(const Bus&) = delete;

  /// Queues copies of `bytes` in all, chunk by chunk.
  void copy(std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
    const bool in = kind == cudaMemcpyHostToDevice;
    for (std::size_t done = 0; done < bytes; done += kPinnedBytes)
      check_cuda(cudaMemcpyAsync(in ? device_ : host_, in ? host_ : device_, std::min(bytes - done, kPinnedBytes), kind,
                                 stream),
                 "copying between host and GPU");
  }

 private:
  void *host_ = nullptr, *device_ = nullptr;
};

}  // namespace rung
