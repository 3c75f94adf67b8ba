#include "gpu/host/timeline.hpp"

#include <algorithm>
#include <map>
#include <string>

#include "gpu/host/cuda_error.hpp"

namespace rung {
namespace {

Timeline* current = nullptr;

cudaEvent_t new_event() {
  cudaEvent_t event = nullptr;
  check_cuda(cudaEventCreate(&event), "creating an event");
  return event;
}

}  // namespace

Timeline::Timeline(cudaStream_t stream) : start_(new_event()) {
  check_cuda(cudaEventRecord(start_, stream), "recording an event");
  current = this;
}

Timeline::~Timeline() {
  current = nullptr;
  cudaEventDestroy(start_);
  for (const Queued& one : queued_) {
    cudaEventDestroy(one.begin);
    cudaEventDestroy(one.end);
  }
}

Timeline::Entry::Entry(const char* what, cudaStream_t stream) : stream_(stream) {
  if (!current) return;
  const cudaEvent_t begin = new_event();
  end_ = new_event();
  current->queued_.push_back({what, stream, begin, end_});
  check_cuda(cudaEventRecord(begin, stream), "recording an event");
}

/// If recording fails, the wait for the event in spans() fails, too, and reports it.
Timeline::Entry::~Entry() {
  if (end_) cudaEventRecord(end_, stream_);
}

double Timeline::seconds_to(cudaEvent_t event) const {
  float milliseconds = 0;
  check_cuda(cudaEventSynchronize(event), "waiting for the GPU");
  check_cuda(cudaEventElapsedTime(&milliseconds, start_, event), "reading an event");
  return milliseconds * 1e-3;
}

std::vector<Span> Timeline::spans() const {
  std::vector<Span> spans;
  std::vector<cudaStream_t> streams;      // by number
  std::map<std::string, double> free_at;  // the engines of copies
  for (const Queued& one : queued_) {
    auto known = std::find(streams.begin(), streams.end(), one.stream);
    if (known == streams.end()) known = streams.insert(streams.end(), one.stream);
    Span span{one.what, static_cast<int>(known - streams.begin()), seconds_to(one.begin), seconds_to(one.end)};
    if (span.what != "kernel") {
      double& free = free_at[span.what];
      span.begin = std::clamp(free, span.begin, span.end);
      free = std::max(free, span.end);
    }
    spans.push_back(std::move(span));
  }
  return spans;
}

}  // namespace rung
