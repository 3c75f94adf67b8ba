/// What else a machine did while something was timed: how long threads of this process waited for a processor, what a
/// hypervisor took, what other processes used. Source: Documentation/scheduler/sched-stats.rst, proc(5), getrusage(2).
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <optional>

namespace rung {

/// During one interval. Values that the system does not report are absent.
struct Disturbance {
  double seconds = 0;                   ///< of the interval
  std::optional<double> waited;         ///< seconds that the thread that waited longest waited for a processor
  std::optional<long> switches;         ///< how often a thread of this process lost its processor to another one
  std::optional<double> stolen;         ///< seconds of all processors together, at least, that a hypervisor took
  std::optional<double> others;         ///< processors that other processes used, on average
  std::optional<int> threads;           ///< of this process that ran: a tenth as long at least as the busiest
  int processors = 0;                   ///< that this process may use; 0: unknown
  std::optional<double> device_others;  ///< share of a GPU's time that other processes used

  /// Whether the interval took more than a per cent longer than it would have alone. More threads than processors wait
  /// for each other: there, other processes must have used a tenth of a processor.
  bool is_one() const;
};

/// The system's counters at one moment. To read them takes some microseconds a thread; nothing of it is timed.
class Look {
 public:
  /// Below `proc`, which tests replace.
  static Look now(const std::filesystem::path& proc = "/proc");

  /// What happened from `before` until this one.
  Disturbance since(const Look& before) const;

 private:
  /// Of one thread, in nanoseconds, and how often it was given a processor.
  struct Thread {
    double ran = 0, waited = 0, starts = 0;
  };
  std::chrono::steady_clock::time_point at_;
  std::map<int, Thread> threads_;       ///< by number
  std::optional<double> busy_, steal_;  ///< of all processors, in seconds
  double own_ = 0;                      ///< processor time of this process, in seconds
  long switches_ = 0;
};

}  // namespace rung
