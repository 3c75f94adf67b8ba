/// When copies and launches actually ran, from events before and after each.
#pragma once

#include <cuda_runtime_api.h>

#include <vector>

#include "common/machine/target.hpp"

namespace rung {

/// While one exists, copies and launches are recorded. One at a time.
class Timeline {
 public:
  /// Time is counted from the next entry that is queued on `stream`.
  explicit Timeline(cudaStream_t stream);
  ~Timeline();
  Timeline(const Timeline&) = delete;
  Timeline& operator=(const Timeline&) = delete;

  /// Exists while one copy or launch is queued. Does nothing while there is no timeline.
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
  /// free, perhaps before its engine is: copies in one direction share an engine, so each begins when the previous one
  /// has ended. Kernels can run concurrently.
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
