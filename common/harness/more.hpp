/// `rung run --more RESULT`: further samples of the points of a result that exists. They go into a results file of
/// their own, below the folder of the first one, which is never changed; `rung compare` joins them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "common/harness/experiment.hpp"
#include "common/machine/machine.hpp"

namespace rung {

struct MoreChoice {
  std::filesystem::path result;      ///< the results file
  std::filesystem::path points;      ///< a file of points' names, one per line; empty for all
  std::vector<std::string> kernels;  ///< globs; empty for all
};

/// The experiment of the result, with its timed points alone, and where the samples belong.
struct More {
  Experiment experiment;
  std::filesystem::path outdir;  ///< "more" next to the result
  std::string of;                ///< the checksum of the result: the context key `more_of`
  std::uint64_t seed = 1;        ///< the result's
};

/// Throws Error if the file is no result, if this program or this machine differs from what measured it, or if the
/// choice names no point of it.
More more_of(const MoreChoice& choice, Machine& machine);

}  // namespace rung
