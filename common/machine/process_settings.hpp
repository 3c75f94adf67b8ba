/// What of the process a kernel can set and leave for the kernels after it.
#pragma once

#include <signal.h>
#include <sys/resource.h>

#include <array>
#include <map>

namespace rung {

/// The limits of the system on the process, OpenMP's settings but for the number of threads, timers, whether memory may
/// have huge pages, and what becomes of the signals that this program heeds.
class ProcessSettings {
 public:
  static ProcessSettings now();
  /// Puts back what differs, and ends timers. False if a limit cannot be raised again, as where a kernel without rights
  /// has lowered the hard one.
  bool restore() const;

 private:
  bool restore_limits() const;

  std::array<rlimit, RLIM_NLIMITS> limits_{};
  int levels_ = 0, dynamic_ = 0, schedule_ = 0, chunk_ = 0, device_ = 0, no_huge_pages_ = 0;
  std::map<int, struct sigaction> signals_;
};

}  // namespace rung
