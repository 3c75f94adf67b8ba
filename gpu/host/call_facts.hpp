/// How CUDA's calls behave on this GPU, measured by making them. A course's statements on launches, events, errors and
/// __device__ variables are checked with these facts in every run.
#pragma once

namespace rung {

struct CallFacts {
  double launch_seconds = 0;      ///< on the host, until the launch of a kernel returns
  double launched_seconds = 0;    ///< on the host, until that kernel has ended
  double event_step_seconds = 0;  ///< the smallest difference between the times of two events
  bool keeps_variables = false;   ///< __device__ and __constant__ variables keep their values from launch to launch
  bool resets_error = false;      ///< cudaGetLastError returns an error of a call once, then success
};

/// Measured once per process, in a few hundredths of a second. Throws Error if a call fails that should not.
CallFacts call_facts();

}  // namespace rung
