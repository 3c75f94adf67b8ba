/// What the user sees while a study runs: one line per measured point, and on a terminal a last line with what is being
/// measured, how many points are done and about how long the rest will take. At the end, what was skipped, by reason.
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
  /// `done` of `total` points were measured in an earlier run that is resumed.
  Progress(std::size_t done, std::size_t total);
  /// The point that begins, `together` with so many in all that are measured in turns.
  void begin(const std::string& name, std::size_t together = 1);
  /// `entries` are the point's entries for the results file.
  void finish(const Point& point, const std::vector<Json>& entries);
  /// Says how many points were skipped, and why.
  void end();

 private:
  std::string time_left() const;

  bool is_terminal_;
  std::size_t done_, total_, resumed_;
  std::chrono::steady_clock::time_point start_;
  std::map<std::string, int> skipped_;  ///< points by reason
};

/// "1:05:09", "4:07", "12 s".
std::string duration_text(double seconds);

}  // namespace rung
