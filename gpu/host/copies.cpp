#include "gpu/simt/copies.hpp"

#include <cuda_runtime_api.h>

#include <array>

#include "gpu/host/cuda_error.hpp"
#include "gpu/host/timeline.hpp"

namespace rung {
namespace {

cudaStream_t native(void* stream) { return static_cast<cudaStream_t>(stream); }

/// A stream in addition to the calls' stream, with the events that order the two.
struct Fork {
  cudaStream_t stream = nullptr;
  cudaEvent_t begins = nullptr, ends = nullptr;

  Fork() {
    check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "creating a stream");
    check_cuda(cudaEventCreateWithFlags(&begins, cudaEventDisableTiming), "creating an event");
    check_cuda(cudaEventCreateWithFlags(&ends, cudaEventDisableTiming), "creating an event");
  }
};

/// Created by the first call that uses one and kept: timed calls must not create streams. Freed when the process ends.
Fork& fork_of(int which) {
  static std::array<Fork, kForks>* const forks = new std::array<Fork, kForks>;
  return forks->at(static_cast<std::size_t>(which));
}

}  // namespace

void copy_to_gpu(void* gpu, const void* host, std::size_t bytes, void* stream) {
  const Timeline::Entry entry("copy in", native(stream));
  check_cuda(cudaMemcpyAsync(gpu, host, bytes, cudaMemcpyHostToDevice, native(stream)), "copying to the GPU");
}

void copy_from_gpu(void* host, const void* gpu, std::size_t bytes, void* stream) {
  const Timeline::Entry entry("copy out", native(stream));
  check_cuda(cudaMemcpyAsync(host, gpu, bytes, cudaMemcpyDeviceToHost, native(stream)), "copying from the GPU");
}

void* fork_stream(const Call& call, int which) {
  const Fork& fork = fork_of(which);
  check_cuda(cudaEventRecord(fork.begins, native(call.stream)), "recording an event");
  check_cuda(cudaStreamWaitEvent(fork.stream, fork.begins, 0), "ordering two streams");
  return fork.stream;
}

void join_stream(const Call& call, int which) {
  const Fork& fork = fork_of(which);
  check_cuda(cudaEventRecord(fork.ends, fork.stream), "recording an event");
  check_cuda(cudaStreamWaitEvent(native(call.stream), fork.ends, 0), "ordering two streams");
}

}  // namespace rung
