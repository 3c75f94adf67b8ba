/// Source: perf_event_open(2); Documentation/admin-guide/sysctl/kernel.rst, perf_event_paranoid.
#include "common/machine/cpu_events.hpp"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <utility>

#include "common/machine/cpu_info.hpp"

namespace rung {
namespace {

constexpr double kLineBytes = 64;

constexpr std::uint64_t cache_event(std::uint64_t cache, std::uint64_t operation, std::uint64_t result) {
  return cache | operation << 8 | result << 16;
}

/// One event of one thread and of the threads that it starts. Not there (no descriptor) where it cannot be counted.
class Counter {
 public:
  Counter(const CpuEvent& event, pid_t thread) {
    perf_event_attr attributes{};
    attributes.size = sizeof attributes;
    attributes.type = event.type;
    attributes.config = event.config;
    attributes.disabled = 1;
    attributes.inherit = 1;
    attributes.exclude_kernel = 1;  // required by perf_event_paranoid = 2, most systems' setting
    attributes.exclude_hv = 1;
    attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    descriptor_ = static_cast<int>(syscall(SYS_perf_event_open, &attributes, thread, -1, -1, PERF_FLAG_FD_CLOEXEC));
    if (descriptor_ < 0) error_ = errno;
  }
  ~Counter() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  Counter(Counter&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)), error_(other.error_) {}
  Counter& operator=(Counter&&) = delete;

  int error() const { return error_; }
  void enable() const { ioctl(descriptor_, PERF_EVENT_IOC_ENABLE, 0); }
  void disable() const { ioctl(descriptor_, PERF_EVENT_IOC_DISABLE, 0); }
  double value() const {
    std::uint64_t read_out[3] = {};  // value, time enabled, time running
    if (::read(descriptor_, read_out, sizeof read_out) != sizeof read_out) return -1;
    return scaled_count(read_out[0], read_out[1], read_out[2]);
  }

 private:
  int descriptor_ = -1, error_ = 0;
};

std::vector<pid_t> threads_of_this_process() {
  std::vector<pid_t> ids;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task", none))
    ids.push_back(static_cast<pid_t>(std::atoi(entry.path().filename().c_str())));
  return ids;
}

std::string refusal_text(int error) {
  const std::string machine = cpu_info().is_virtual.value_or(false) ? "this virtual machine" : "this machine";
  switch (error) {
    case EACCES:
    case EPERM: {
      std::ifstream file("/proc/sys/kernel/perf_event_paranoid");
      std::string level = "not told";
      file >> level;
      return "not permitted: perf_event_paranoid is " + level + ", at most 2 is needed, or a sandbox forbids it";
    }
    case ENOENT:
    case ENODEV:
    case EOPNOTSUPP:
      return machine + " exposes no such event";
    default:
      return std::string("perf_event_open: ") + std::strerror(error);
  }
}

/// Why this event cannot be counted, as an errno; 0 if it can.
int refusal_of(const CpuEvent& event) { return Counter(event, 0).error(); }

}  // namespace

std::vector<EventSum> hardware_events() {
  const auto event = [](std::uint64_t cache, std::uint64_t operation, std::uint64_t result) {
    return CpuEvent{PERF_TYPE_HW_CACHE, cache_event(cache, operation, result)};
  };
  constexpr auto l1 = PERF_COUNT_HW_CACHE_L1D, last = PERF_COUNT_HW_CACHE_LL;
  constexpr auto read = PERF_COUNT_HW_CACHE_OP_READ, write = PERF_COUNT_HW_CACHE_OP_WRITE;
  constexpr auto access = PERF_COUNT_HW_CACHE_RESULT_ACCESS, miss = PERF_COUNT_HW_CACHE_RESULT_MISS;
  return {
      {"instructions_measured", {{PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS}}},
      {"l1d_loads_measured", {event(l1, read, access)}},
      {"bytes_l2_measured", {event(l1, read, miss)}, kLineBytes},
      {"bytes_l3_measured", {event(last, read, access), event(last, write, access)}, kLineBytes},
      {"bytes_dram_measured", {event(last, read, miss), event(last, write, miss)}, kLineBytes},
  };
}

CpuEvents::CpuEvents(std::vector<EventSum> wanted) {
  for (EventSum& quantity : wanted) {
    int error = 0;
    for (const CpuEvent& event : quantity.events)
      if (error == 0) error = refusal_of(event);
    if (error == 0) available_.push_back(std::move(quantity));
    if (error != 0 && unavailable_.empty()) unavailable_ = refusal_text(error);
  }
}

std::map<std::string, double> CpuEvents::count(const std::function<void()>& work) const {
  std::set<CpuEvent> events;
  for (const EventSum& quantity : available_) events.insert(quantity.events.begin(), quantity.events.end());
  std::map<CpuEvent, std::vector<Counter>> counters;
  std::set<CpuEvent> incomplete;  // e.g. more counters than this process may have files
  for (const pid_t thread : threads_of_this_process())
    for (const CpuEvent& event : events) {
      Counter counter(event, thread);
      if (counter.error() == 0) counters[event].push_back(std::move(counter));
      if (counter.error() != 0 && counter.error() != ESRCH) incomplete.insert(event);  // ESRCH: it has just ended
    }
  const auto each = [&](auto use) {
    for (const auto& [event, of_threads] : counters)
      for (const Counter& counter : of_threads) use(counter);
  };
  each([](const Counter& counter) { counter.enable(); });
  work();
  each([](const Counter& counter) { counter.disable(); });

  std::map<std::string, double> values;
  for (const EventSum& quantity : available_) {
    double sum = 0;
    bool is_known = true;
    for (const CpuEvent& event : quantity.events) {
      is_known = is_known && !counters[event].empty() && !incomplete.contains(event);
      for (const Counter& counter : counters[event]) {
        const double value = counter.value();
        is_known = is_known && value >= 0;
        sum += value;
      }
    }
    if (is_known) values[quantity.key] = quantity.factor * sum;
  }
  return values;
}

double scaled_count(std::uint64_t value, std::uint64_t enabled, std::uint64_t running) {
  if (running == 0) return enabled == 0 ? 0 : -1;
  if (running >= enabled) return static_cast<double>(value);
  return static_cast<double>(value) * (static_cast<double>(enabled) / static_cast<double>(running));
}

}  // namespace rung
