#include "common/harness/progress.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include "common/harness/statistics.hpp"

namespace rung {
namespace {

std::string rate_text(const Point& point, const std::vector<Json>& entries) {
  const Json& first = entries.front();
  if (first.value("error_occurred", false)) return "FAILED: " + first.value("error_message", "");
  if (first["mode"] == "count")
    return fmt::format("{:>12.4f} OP/B executed, {:.4g} sectors per load", first.value("op_per_byte_executed", 0.0),
                       first.value("sectors_per_load_request", 0.0));
  const Metric& metric = point.problem->metric;
  std::vector<double> rates;
  for (const Json& entry : entries) rates.push_back(entry.value(metric.key, 0.0));
  const double middle = median(rates);
  const Interval interval = median_interval(rates);
  return fmt::format("{:>10.1f} {:<8} ±{:4.1f} %  {:>2} samples, {}", middle, metric.unit,
                     50 * (interval.high - interval.low) / middle, rates.size(), first.value("stop_reason", ""));
}

}  // namespace

std::string duration_text(double seconds) {
  const long whole = static_cast<long>(seconds + 0.5);
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

Progress::Progress(std::size_t done, std::size_t total)
    : is_terminal_(isatty(STDOUT_FILENO)),
      done_(done),
      total_(total),
      resumed_(done),
      start_(std::chrono::steady_clock::now()) {}

void Progress::begin(const std::string& name, std::size_t together) {
  if (!is_terminal_) return;
  const std::string others = together > 1 ? fmt::format(" in turns with {} others", together - 1) : "";
  fmt::print("\033[2K[{}/{}] {}{}  {}\r", done_, total_, name, others, time_left());
  std::fflush(stdout);
}

void Progress::finish(const Point& point, const std::vector<Json>& entries) {
  ++done_;
  if (entries.front().value("skipped", false)) {
    ++skipped_[entries.front().value("skip_message", "")];
    return;
  }
  fmt::print("{}[{:>3}/{}, {:>9}] {:<52} {}\n", is_terminal_ ? "\033[2K" : "", done_, total_, time_left(), point.name(),
             rate_text(point, entries));
  std::fflush(stdout);
}

void Progress::end() {
  if (is_terminal_) fmt::print("\033[2K");
  for (const auto& [reason, count] : skipped_) fmt::print("skipped {} points: {}\n", count, reason);
}

std::string Progress::time_left() const {
  if (done_ == resumed_) return "";
  const double spent = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  return duration_text(spent / double(done_ - resumed_) * double(total_ - done_)) + " left";
}

}  // namespace rung
