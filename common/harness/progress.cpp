#include "common/harness/progress.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/harness/results.hpp"
#include "common/harness/say.hpp"
#include "common/harness/statistics.hpp"

namespace rung {
namespace {

bool is_terminal() {
  static const bool is = isatty(STDOUT_FILENO);
  return is;
}

/// How a point counts in the time that is left: those that are skipped at once hardly do, a verification takes its
/// time.
double share(const Point& point) { return point.skip.empty() ? 0.2 + point.effort.seconds : 0.001; }

/// A rate in a bare unit with the prefix that it is read best with: 1.3e12 is 1.3 T; units that have a prefix of their
/// own ("GB/s") stay.
std::pair<double, std::string> with_prefix(double rate, const std::string& unit) {
  if (unit.starts_with("G")) return {rate, ""};
  for (const auto& [factor, prefix] : {std::pair{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}})
    if (rate >= factor) return {rate / factor, prefix};
  return {rate, ""};
}

/// " (errors up to 20 times the bound, by norm)" of a kernel whose errors have a bound of its own.
std::string bound_text(const ErrorBound& bound) {
  if (bound == ErrorBound{}) return "";
  return fmt::format(" (errors up to {:g} times the bound{})", bound.factor, bound.by_norm ? ", by norm" : "");
}

std::string rate_text(const Point& point, const std::vector<Json>& entries) {
  const Json& first = entries.front();
  if (first.value("error_occurred", false)) return "FAILED: " + first.value("error_message", "");
  if (first["mode"] == "count")
    return fmt::format("{:>12.4f} OP/B executed, {:.4g} sectors per load", first.value("op_per_byte_executed", 0.0),
                       first.value("sectors_per_load_request", 0.0));
  const Metric& metric = point.problem->metric;
  std::vector<double> rates;
  double waited = 0, watched = 0;
  for (const Json& entry : entries) {
    waited += entry.value("waited_seconds", 0.0);
    watched += entry.value("watched_seconds", 0.0);
    if (counts(entry)) rates.push_back(entry.value(metric.key, 0.0));
  }
  const double middle = median(rates);
  const Interval interval = interval_within_run(rates);
  const auto [scaled, prefix] = with_prefix(middle, metric.unit);
  std::string reason = first.value("stop_reason", "");
  const bool is_disturbed = reason == "disturbed";
  if (is_disturbed && waited > 0)
    reason += fmt::format(": its threads waited {:.0f} % of the time for a processor", 100 * waited / watched);
  const double half_width = is_disturbed ? NAN : 50 * (interval.high - interval.low) / middle;
  return fmt::format("{:>10.1f} {:<10} {}  {:>2} samples, {}{}", scaled, prefix + metric.unit,
                     std::isnan(half_width) ? std::string("        ") : fmt::format("±{:5.1f} %", half_width),
                     rates.size(), reason, bound_text(point.kernel->error_bound));
}

}  // namespace

std::string duration_text(double seconds) {
  const long whole = static_cast<long>(seconds + 0.5);
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

void Progress::plan(const std::vector<const Point*>& points) {
  for (const Point* point : points) left_ += share(*point);
}

void Progress::begin_experiment(const std::string& name, const std::vector<const Point*>& done, std::size_t total) {
  experiment_ = name;
  done_ = done.size();
  total_ = total;
  for (const Point* point : done) left_ -= share(*point);
}

void Progress::begin(const Point& point, std::size_t together) {
  if (!is_terminal()) return;
  const std::string others = together > 1 ? fmt::format(" interleaved with {} others", together - 1) : "";
  say("\033[2K{} {}{}\r", place(), point.name(), others);
  std::fflush(stdout);
}

void Progress::finish(const Point& point, const std::vector<Json>& entries) {
  ++done_;
  left_ -= share(point);
  spent_ += share(point);
  if (entries.front().value("skipped", false)) {
    ++skipped_[entries.front().value("skip_message", "")];
    return;
  }
  say("{}{} {:<52} {}\n", is_terminal() ? "\033[2K" : "", place(), point.name(), rate_text(point, entries));
  std::fflush(stdout);
}

void Progress::end_experiment() {
  if (is_terminal()) say("\033[2K");
  for (const auto& [reason, count] : skipped_) say("skipped {} points: {}\n", count, reason);
  skipped_.clear();
}

/// "[ratio 3/12, 4:07 left]"
std::string Progress::place() const {
  const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  const std::string left = spent_ > 0 ? duration_text(took / spent_ * std::max(left_, 0.0)) + " left" : "";
  return fmt::format("[{} {:>3}/{}{}]", experiment_, done_, total_, left.empty() ? "" : fmt::format(", {:>9}", left));
}

}  // namespace rung
