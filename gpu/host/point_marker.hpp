/// What a profiler sees of a point: ncu is started with `--profile-from-start off` (experiments/profile.sh).
#pragma once

#include <cuda_runtime_api.h>

namespace rung {

/// While it lives, the profiler watches what this process launches.
class Watched {
 public:
  Watched();
  ~Watched();
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;
};

/// While it lives, the profiler looks away: what a library tries out before it chooses is not the point's own work.
class Unwatched {
 public:
  Unwatched();
  ~Unwatched();
  Unwatched(const Unwatched&) = delete;
  Unwatched& operator=(const Unwatched&) = delete;

 private:
  bool was_watching_;
};

/// Looks for that empty kernel: success where this program has code for the current GPU; `architecture` is 75 where
/// that was compiled for compute capability 7.5, as may be for a newer GPU.
cudaError_t find_marker(int& architecture);

/// Launches an empty kernel, `rung_point_begins`: the watched kernels up to the next one are those of one point
/// (report/counters.py reads them so). Waits for it.
void mark_point(cudaStream_t stream);

}  // namespace rung
