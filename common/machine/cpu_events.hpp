/// The processor's own counters for a piece of work, through Linux's perf_event_open(2).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace rung {

/// One event as perf_event_open(2) names it.
struct CpuEvent {
  std::uint32_t type = 0;    ///< PERF_TYPE_…
  std::uint64_t config = 0;  ///< PERF_COUNT_…
  bool operator<(const CpuEvent& other) const { return std::pair(type, config) < std::pair(other.type, other.config); }
};

/// A quantity of a result: `factor` times the sum of its events. Only reported where the machine has all of them.
struct EventSum {
  std::string key;  ///< "bytes_dram_measured"
  std::vector<CpuEvent> events;
  double factor = 1;
};

/// Instructions, loads, and the lines of 64 bytes that loads and stores brought into L1, to the L3 and from memory.
std::vector<EventSum> hardware_events();

/// Counts events over all threads of this process, those that exist and those that the work starts.
class CpuEvents {
 public:
  /// Tries each event once; those that the machine forbids or lacks are left out.
  explicit CpuEvents(std::vector<EventSum> wanted = hardware_events());

  /// The quantities that can be counted.
  const std::vector<EventSum>& available() const { return available_; }
  /// Why the others cannot: "perf_event_paranoid is 4: …", "this virtual machine exposes no such event"; empty if all
  /// can.
  const std::string& unavailable() const { return unavailable_; }

  /// Does `work` once; the available quantities by key, of user code only. Where more events are wanted than the
  /// processor has counters, each was counted part of the time and is scaled up; one that never was is left out.
  std::map<std::string, double> count(const std::function<void()>& work) const;

 private:
  std::vector<EventSum> available_;
  std::string unavailable_;
};

/// What a counter read: scaled from the time that it ran to the time that it was enabled; negative if it never ran
/// while enabled.
double scaled_count(std::uint64_t value, std::uint64_t enabled, std::uint64_t running);

}  // namespace rung
