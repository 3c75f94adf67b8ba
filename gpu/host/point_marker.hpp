/// Controls what a profiler records of a point: ncu is started with `--profile-from-start off`
/// (experiments/profile.sh).
#pragma once

#include <cuda_runtime_api.h>

namespace rung {

/// While it exists, the profiler records this process's launches.
class Watched {
 public:
  Watched();
  ~Watched();
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;
};

/// While it exists, the profiler records nothing: kernels that a library tries before it chooses are not the point's
/// work.
class Unwatched {
 public:
  Unwatched();
  ~Unwatched();
  Unwatched(const Unwatched&) = delete;
  Unwatched& operator=(const Unwatched&) = delete;

 private:
  bool was_watching_;
};

/// Looks for the empty kernel below: success where this program has code for the current GPU. `architecture` is 75
/// where the code was compiled for compute capability 7.5, as it may be for a newer GPU.
cudaError_t find_marker(int& architecture);

/// Launches an empty kernel, `rung_point_begins`, and waits for it: the watched kernels up to the next such launch
/// belong to one point (report/counters.py reads them so).
void mark_point(cudaStream_t stream);

}  // namespace rung
