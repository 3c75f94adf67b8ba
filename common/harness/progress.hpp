/// What the user sees while a study runs: one line per measured point, and on a terminal a last line with what is being
/// measured, how many points of the experiment are done and about how long the rest of the whole study will take. At
/// the end of each experiment, what was skipped, by reason.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "common/harness/experiment.hpp"
#include "common/harness/journal.hpp"

namespace rung {

class Progress {
 public:
  Progress() : start_(std::chrono::steady_clock::now()) {}

  /// These points are still to be measured.
  void plan(const std::vector<const Point*>& points);
  /// The next experiment begins; `done` of its `total` points were measured in an earlier run that is resumed.
  void begin_experiment(const std::string& name, const std::vector<const Point*>& done, std::size_t total);
  /// A point begins, one of `together` interleaved points.
  void begin(const Point& point, std::size_t together);
  /// `entries` are the point's entries for the results file.
  void finish(const Point& point, const std::vector<Json>& entries);
  /// Says how many points of the experiment were skipped, and why.
  void end_experiment();

 private:
  std::string place() const;

  std::string experiment_;
  std::size_t done_ = 0, total_ = 0;  ///< points of the experiment
  double left_ = 0, spent_ = 0;       ///< of the whole study, by the time that points may take at most
  std::chrono::steady_clock::time_point start_;
  std::map<std::string, int> skipped_;  ///< points by reason
};

/// "1:05:09", "4:07", "12 s".
std::string duration_text(double seconds);

}  // namespace rung
