/// Copies between ordinary host memory and the GPU at the rate of the bus.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#include "common/machine/parts.hpp"
#include "gpu/host/cuda_error.hpp"

namespace rung {

/// Two chunks of page-locked memory: while one is transferred, all cores fill or read the other. The driver's own copy
/// of ordinary memory uses one core, which also has to map each page that was never touched before.
class StagedCopy {
 public:
  static constexpr std::size_t kChunk = std::size_t{32} << 20;

  StagedCopy() {
    for (Stage& stage : stages_) {
      check_cuda(cudaHostAlloc(&stage.memory, kChunk, cudaHostAllocDefault), "allocating pinned memory");
      check_cuda(cudaEventCreateWithFlags(&stage.done, cudaEventDisableTiming), "creating an event");
    }
  }
  StagedCopy(const StagedCopy&) = delete;
  StagedCopy& operator=(const StagedCopy&) = delete;

  /// Copies to the GPU, in order with `stream`; returns at its end.
  void upload(void* to, const void* host, std::size_t bytes, cudaStream_t stream) {
    std::size_t chunk = 0;
    for (std::size_t begin = 0; begin < bytes; begin += kChunk, ++chunk) {
      Stage& stage = stages_[chunk % 2];
      const std::size_t count = std::min(bytes - begin, kChunk);
      if (chunk >= 2) stage.wait();
      const auto* from = static_cast<const std::byte*>(host) + begin;
      each_part(count, [&](std::size_t at, std::size_t size) { std::memcpy(stage.at(at), from + at, size); });
      check_cuda(
          cudaMemcpyAsync(static_cast<std::byte*>(to) + begin, stage.memory, count, cudaMemcpyHostToDevice, stream),
          "copying to the GPU");
      check_cuda(cudaEventRecord(stage.done, stream), "recording an event");
    }
    check_cuda(cudaStreamSynchronize(stream), "waiting for the GPU");
  }

  /// Calls use(begin, bytes on the host, count) for each part of `bytes` on the GPU, on all threads.
  template <typename Use>
  void download(const void* from, std::size_t bytes, cudaStream_t stream, const Use& use) {
    const auto fetch = [&](std::size_t begin, Stage& stage) {
      if (begin >= bytes) return;
      check_cuda(cudaMemcpyAsync(stage.memory, static_cast<const std::byte*>(from) + begin,
                                 std::min(bytes - begin, kChunk), cudaMemcpyDeviceToHost, stream),
                 "copying from the GPU");
      check_cuda(cudaEventRecord(stage.done, stream), "recording an event");
    };
    fetch(0, stages_[0]);
    for (std::size_t begin = 0, chunk = 0; begin < bytes; begin += kChunk, ++chunk) {
      Stage& stage = stages_[chunk % 2];
      fetch(begin + kChunk, stages_[(chunk + 1) % 2]);
      stage.wait();
      each_part(std::min(bytes - begin, kChunk),
                [&](std::size_t at, std::size_t size) { use(begin + at, stage.at(at), size); });
    }
  }

 private:
  struct Stage {
    void* memory = nullptr;
    cudaEvent_t done = nullptr;

    Stage() = default;
    Stage(const Stage&) = delete;
    ~Stage() {
      if (done) cudaEventDestroy(done);
      cudaFreeHost(memory);
    }
    void wait() const { check_cuda(cudaEventSynchronize(done), "waiting for the GPU"); }
    std::byte* at(std::size_t begin) const { return static_cast<std::byte*>(memory) + begin; }
  };

  std::array<Stage, 2> stages_;
};

}  // namespace rung
