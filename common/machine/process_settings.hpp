/// What of the process a kernel can set and leave for the kernels after it.
#pragma once

#include <sys/resource.h>

#include <array>

#include "common/machine/signals.hpp"

namespace rung {

/// The limits of the system on the process, OpenMP's settings except the number of threads, whether memory may have
/// huge pages, timers and signals.
class ProcessSettings {
 public:
  static ProcessSettings now();
  /// Puts back what differs. False if a limit cannot be raised again, for instance where a kernel without rights
  /// has lowered the hard one.
  bool restore() const;

 private:
  bool restore_limits() const;

  std::array<rlimit, RLIM_NLIMITS> limits_{};
  int levels_ = 0, dynamic_ = 0, schedule_ = 0, chunk_ = 0, device_ = 0, no_huge_pages_ = 0;
  Signals signals_;
};

}  // namespace rung
