/// When copies and launches really ran, by events before and after each.
#pragma once

#include <cuda_runtime_api.h>

#include <vector>

#include "common/machine/target.hpp"

namespace rung {

/// While one lives, copies and launches are written down. One at a time.
class Timeline {
 public:
  /// Time is counted from what is queued on `stream` next.
  explicit Timeline(cudaStream_t stream);
  ~Timeline();
  Timeline(const Timeline&) = delete;
  Timeline& operator=(const Timeline&) = delete;

  /// Made right before one thing is queued and gone right after that. Does nothing while there is no timeline.
  class Entry {
   public:
    Entry(const char* what, cudaStream_t stream);
    ~Entry();
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;

   private:
    cudaStream_t stream_;
    cudaEvent_t end_ = nullptr;
  };

  /// In the order in which they were queued; waits for their ends. An event before a copy is reached when its stream is
  /// free, perhaps before its engine is: copies one way have one engine, so each begins when the one before it has
  /// ended. Kernels can run side by side.
  std::vector<Span> spans() const;

 private:
  struct Queued {
    const char* what;
    cudaStream_t stream;
    cudaEvent_t begin, end;
  };
  double seconds_to(cudaEvent_t event) const;

  cudaEvent_t start_ = nullptr;
  std::vector<Queued> queued_;
};

}  // namespace rung
