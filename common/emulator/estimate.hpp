/// Reports how long a launch on the emulator will take.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>

namespace rung {

/// From now on, launches that have lasted two seconds report on standard error how long they will take.
void say_long_launches();

/// Of one launch.
class LaunchEstimate {
 public:
  explicit LaunchEstimate(std::size_t blocks) : blocks_(blocks) {}
  /// From any thread. Reports once, if enabled and if the launch takes long.
  void block_done();

 private:
  using Clock = std::chrono::steady_clock;
  std::size_t blocks_;
  Clock::time_point start_ = Clock::now();
  std::atomic<std::size_t> done_{0};
  std::atomic<bool> is_said_{false};
};

}  // namespace rung
