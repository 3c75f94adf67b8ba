/// Mean power during a run, from an energy counter that advances in steps.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

namespace rung {

/// A thread reads the counter every millisecond. Energy and time are taken from one step to another: read at the
/// beginning and the end instead, a counter that advances every 100 ms would be wrong by up to a tenth for a run of a
/// second.
class PowerMeter {
 public:
  using Counter = std::function<std::optional<double>()>;  // joules

  explicit PowerMeter(Counter counter)
      : thread_([this, read = std::move(counter)](const std::stop_token& stop) {
          std::optional<double> last = read();
          for (; !stop.stop_requested(); std::this_thread::sleep_for(std::chrono::milliseconds(1)))
            if (const std::optional<double> now = read(); now && now != last) {
              steps_.push_back({Clock::now(), *now});
              last = now;
            }
        }) {}

  /// Ends the measurement. Watts from the second step on, since the first may contain earlier energy; nothing if fewer
  /// than four steps were seen.
  std::optional<double> watts() {
    constexpr std::size_t kFewest = 4;
    thread_.request_stop();
    if (thread_.joinable()) thread_.join();
    if (steps_.size() < kFewest) return std::nullopt;
    const Step &first = steps_[1], &last = steps_.back();
    return (last.joules - first.joules) / std::chrono::duration<double>(last.at - first.at).count();
  }

 private:
  using Clock = std::chrono::steady_clock;
  struct Step {
    Clock::time_point at;
    double joules;
  };

  std::vector<Step> steps_;
  std::jthread thread_;  // ends before the steps do
};

}  // namespace rung
