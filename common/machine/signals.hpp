/// Timers of the process and what becomes of its signals: what a kernel can set that takes time from those after it.
#pragma once

#include <signal.h>
#include <sys/time.h>

#include <array>
#include <set>
#include <string>

namespace rung {

class Signals {
 public:
  static Signals now();
  /// Puts back what differs by now. Says what did; empty if nothing.
  std::string restore() const;

 private:
  std::array<itimerval, 3> timers_ = {};  ///< by ITIMER_REAL, _VIRTUAL, _PROF
  std::array<struct sigaction, 65> handlers_ = {};
  std::set<int> made_;  ///< by timer_create, where the system lists them
};

}  // namespace rung
