/// An experiment file: one question, asked as sweeps over kernels, sizes, tunables and modes. Strict: a key or a name
/// that nobody knows is an error with the nearest one suggested.
///
///   title = "…"              question = "…"
///   [[sweep]]
///   kernels = ["gpu/matmul/*"]     globs over the registry
///   mode = ["hot", "cold"]         or "count": executed and counted by the emulator, never timed
///   n = [256, 512]                 any size of the problem, any tunable of a kernel: a number or a list
///   sizes = [{m = 64, n = 32, k = 8}]   shapes that are no product of axes
///   caches = "H200"                with mode = "count": model the caches of this device (common/model/devices.cpp),
///   too shared_bytes = [0, 8192]       dynamic shared memory added to each launch (an occupancy sweep) samples = 10 at
///   least so many a point max_samples = 30               at most so many seconds = 1.0                  stop sampling
///   a point after so long, once it has its samples longest_run = 60               skip a point of which a single run
///   takes longer, in seconds
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "common/model/devices.hpp"
#include "common/problem/problem.hpp"
#include "common/registry.hpp"

namespace rung {

enum class Way { hot, cold, count };

/// How long to go on taking samples of one point.
struct Effort {
  int min_samples = 10;
  int max_samples = 30;
  double seconds = 1.0;             ///< wall budget once min_samples are taken
  double longest_run = 60;          ///< seconds; a point whose first run takes longer is skipped
  double target_half_width = 0.01;  ///< of the median's 95 % interval, relative
};

/// One measurement to make: a kernel with its sizes and tunables in one mode.
struct Point {
  const Kernel* kernel = nullptr;
  const Problem* problem = nullptr;
  Params sizes, tunables;
  std::int64_t shared_bytes = 0;
  Way way = Way::hot;
  Effort effort;
  const Device* caches = nullptr;  ///< whose caches are modelled while counting; no part of the name
  std::string skip;                ///< why it is not measured; empty if it is

  /// side/family/variant/tunable:value/n:4096, with a suffix for what is not the default way.
  std::string name() const;
  Params params() const;  ///< sizes and tunables
};

struct Experiment {
  std::string name, title, question;
  std::string text;  ///< the file as it was read
  std::vector<Point> points;
};

/// Reads `file`; throws Error naming the file and line of what is wrong.
Experiment load_experiment(const std::filesystem::path& file);

/// An experiment of one sweep, from the command line: axes are "n=256,512" and "tile=16".
Experiment adhoc_experiment(const std::vector<std::string>& kernels, const std::vector<std::string>& axes);

/// The file of the experiment called `name` (a name or a path); throws Error with the nearest name.
std::filesystem::path find_experiment(const std::string& name);
/// The names of all experiments that come with the project, sorted.
std::vector<std::string> experiment_names();

const char* way_name(Way way);

}  // namespace rung
