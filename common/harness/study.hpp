/// One run of an experiment: verify, time, journal, point by point; then the results file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/harness/experiment.hpp"
#include "common/harness/measure.hpp"
#include "common/harness/supervisor.hpp"

namespace rung {

class Progress;
struct Bench;

struct StudyOptions {
  std::filesystem::path outdir;   ///< holds one folder per run
  std::filesystem::path copy_to;  ///< the results file goes there, too; empty for nowhere
  std::string filter;             ///< a regular expression over point names; with a leading '-', those not matching
  bool list_only = false, dry_run = false, resume = false, require_gpu = false;
  int device = 0;
  std::uint64_t seed = 1;
  Overrides overrides;
  std::vector<std::pair<std::string, std::string>> context;  ///< the user's own keys
  std::string command_line;
  std::string more_of;           ///< the checksum of the result that these are further samples of; empty: of none
  double point_seconds = 600;    ///< that a point may take in addition to its samples
  Supervision supervision;       ///< where another process supervises this one
  Progress* progress = nullptr;  ///< of several experiments together; null: of this one alone
  std::shared_ptr<Bench> bench;  ///< that several experiments share; null: of this one alone
};

struct StudyOutcome {
  std::filesystem::path folder;
  int measured = 0, skipped = 0, failed = 0;
  bool interrupted = false;
};

/// Runs what the options leave of the experiment and writes FOLDER/NAME.json, also after Ctrl-C. A point that fails its
/// verification is an entry with an error and no rate; the others continue. Throws Error for what stops everything, and
/// DeviceLost, with the point recorded as failed, when the rest needs a new process.
StudyOutcome run_study(const Experiment& experiment, const StudyOptions& options);

/// The runs of the experiment below `outdir` that did not end, the newest first.
std::vector<std::filesystem::path> unfinished_runs(const std::filesystem::path& outdir, const std::string& experiment);

/// The newest of them that has the same identity and that no other process measures into; empty if there is none.
std::filesystem::path resumable_run(const Experiment& experiment, const StudyOptions& options);

/// Whether a profiler can watch this point: one of the GPU's, with warm caches, that this build can run.
bool can_be_profiled(const Point& point);

/// Runs each selected GPU point once on the GPU, untimed, for a profiler to watch (also those that are to be counted,
/// so that both can be compared). Prints its name and marks it in the profiler's list of kernels, before it runs; a
/// point that fails gets a line "FAILED NAME: why".
void profile_study(const Experiment& experiment, const StudyOptions& options);

/// The points that `filter` selects, in the order of the file. Throws Error if there are none.
std::vector<const Point*> selected_points(const Experiment& experiment, const std::string& filter);

}  // namespace rung
