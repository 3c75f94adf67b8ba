// clang-format off
/// An experiment file: one question, asked as sweeps over kernels, sizes, tunables and modes. Strict: a key or a name
/// that is not known is an error, and the nearest known one is suggested.
///
///   title = "…"                         question = "…"
///   source = [{id = "pmpp", where = "section 5.4"}]   entries of experiments/sources.toml
///   chapter = 30                        its place in the report
///   [report]                            how the report shows it: kind = "ladder" …; read by report/, only checked here
///   [brief]                             keys that replace every sweep's in the brief study
///   [[sweep]]
///   kernels = ["gpu/matmul/*"]          globs over the registry
///   except = ["gpu/matmul/strassen*"]   except these
///   type = "fp32"                       of these, only kernels of this data type
///   n = [256, 512]                      any size of the problem, any tunable of a kernel: a number, a word or a list
///   sizes = [{m = 64, n = 32, k = 8}]   shapes that are no product of axes
///   data = ["random", "sorted"]         data sets of the problem; if not given, the one that it times by default
///   role = "roofs"                      its points are the roofs by which the others of this run are judged
///   full = true                         measured in the full study only
///   [sweep.brief]                       keys that replace this sweep's in the brief study
///   mode = ["hot", "cold"]              or "count": executed and counted by the emulator, never timed
///   caches = "H200"                     with mode = "count": model this GPU's caches, too (common/model/devices.cpp)
///   catalogue = true                    with mode = "count": what limits its resident blocks on each GPU of the
///                                       catalogue, by the launch alone: for kernels without static shared memory
///   shared_bytes = [0, 8192]            dynamic shared memory added to each launch (an occupancy sweep)
///   threads = [1, 2, 4, 0]              of CPU kernels; 0: all that the process may use; more than cores are allowed.
///                                       Of a block, for GPU kernels with a tunable of that name
///   counters = true                     experiments/profile.sh reads the GPU's hardware counters of its points; with
///                                       mode = "count" true is the default
///   interleave = true                   points of this sweep that compute the same on the same side, in the same mode
///                                       and with the same number of threads interleave their samples: for ratios
///   warm_up = 0.05                      with interleave: seconds of untimed runs before each turn, where a GPU at its
///                                       power limit would otherwise keep the clock that the last kernel left
///   ratio_within = 0.01                 with interleave: continue until the 95 % interval of the ratio of every two
///                                       points reaches at most this far from it, relatively, or max_samples or
///                                       seconds end it: for differences of a few per cent
///   energy = true                       where a sample is too short for a GPU's energy counter, run 1.7 s for it
///   samples = 10                        at least this many per point
///   max_samples = 30                    at most this many
///   seconds = 1.0                       stop sampling a point after this time, once it has its samples
///   longest_run = 60                    skip a point if a single run takes longer, in seconds
// clang-format on
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "common/model/devices.hpp"
#include "common/problem/problem.hpp"
#include "common/registry.hpp"

namespace rung {

enum class Way { hot, cold, count };

/// How long one point is sampled.
struct Effort {
  int min_samples = 10;
  int max_samples = 30;
  double seconds = 1.0;             ///< wall budget once min_samples are taken
  double longest_run = 60;          ///< seconds; a point whose first run takes longer is skipped
  double warm_up = 0;               ///< seconds of untimed runs before each turn, if the target does not require more
  double ratio_within = 0;          ///< of interleaved points: half the interval of each ratio, relative; 0: any
  bool energy = false;              ///< may spend 1.7 s on it where the counters are slow (a GPU's)
  double target_half_width = 0.01;  ///< of the median's 95 % interval as if samples were independent, relative
};

/// One measurement to make: a kernel with its sizes and tunables in one mode.
struct Point {
  const Kernel* kernel = nullptr;
  const Problem* problem = nullptr;
  const DataSet* data = nullptr;  ///< that is timed or counted
  Params sizes, tunables;
  std::int64_t shared_bytes = 0;
  Way way = Way::hot;
  Effort effort;
  const Device* caches = nullptr;  ///< whose caches are modelled while counting; no part of the name
  bool on_catalogue = false;       ///< its launch is examined on every GPU of the catalogue; no part of the name
  int threads = 0;                 ///< that a CPU kernel may use; 0 on the GPU
  bool names_threads = false;      ///< the sweep sets this number, so the name contains it
  bool is_roof = false;            ///< the others of the run are judged by it
  bool has_counters = false;       ///< a profiler reads the hardware's counters for its sweep
  int group = 0;                   ///< points with the same number above 0 are measured together
  std::string skip;                ///< why it is not measured; empty if it is

  /// side/family/variant/tunable:value/n:4096, with suffixes for what is not the default: /mode:cold, /threads:4.
  std::string name() const;
  Params params() const;           ///< sizes and tunables
  bool is_oversubscribed() const;  ///< has more threads than this process may use processors
};

/// The brief study answers each question within seconds; recorded results come from the full study. The experiment's
/// file states the points and samples of each.
enum class Scale { brief, full };

struct Experiment {
  std::string name, title, question;
  std::string text;  ///< the file as it was read
  Scale scale = Scale::full;
  std::vector<Point> points;
  /// Kernels of its sweeps that are refused, by name, and why. There may be no other kernels, and then no points.
  std::map<std::string, std::string> refused;
};

/// Reads `file`; throws Error naming the file and line of what is wrong.
Experiment load_experiment(const std::filesystem::path& file, Scale scale = Scale::full);
/// What is in that file, read already.
Experiment parse_experiment(const std::string& text, const std::filesystem::path& file, Scale scale);

/// An experiment of one sweep, from the command line: axes are "n=256,512" and "tile=16".
Experiment adhoc_experiment(const std::vector<std::string>& kernels, const std::vector<std::string>& axes);

/// The file of the experiment called `name` (a name or a path); throws Error with the nearest name.
std::filesystem::path find_experiment(const std::string& name);
/// The names of all experiments that come with the project, sorted.
std::vector<std::string> experiment_names();

const char* way_name(Way way);
const char* scale_name(Scale scale);

/// The point of a kernel with these sizes, tunables and data set, the rest at their defaults, for all threads that
/// OpenMP has now. Throws Error for values that are not allowed.
Point point_of(const Kernel& kernel, const Params& given, const std::string& data = "");

}  // namespace rung
