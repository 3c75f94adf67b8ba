/// Timing one verified point with Google Benchmark: one repetition is one sample, until the stop rule has enough.
#pragma once

#include <string>
#include <vector>

#include "common/harness/experiment.hpp"
#include "common/harness/target.hpp"

namespace rung {

struct Sample {
  double seconds = 0;      ///< of one run: the timed interval over its runs
  double cpu_seconds = 0;  ///< of the host's thread, likewise
  std::int64_t runs = 1;   ///< timed as one interval
  DeviceState state;       ///< right after it
};

struct Measurement {
  std::vector<Sample> samples;
  std::string stop_reason;  ///< converged; noise stable above target; wall budget; repetitions given; interrupted
};

/// What the command line asks of every point, after Google Benchmark's flags.
struct Overrides {
  int repetitions = 0;     ///< exactly so many samples
  double min_seconds = 0;  ///< a timed interval of at least this
};

/// Why sampling may stop now, or empty to go on. `seconds` are the samples so far, `elapsed` the time spent on them.
std::string stop_reason(const std::vector<double>& seconds, double elapsed, const Effort& effort);

/// Times `call`, which has run at least once before. Throws what the target throws.
Measurement measure(const std::string& name, Target& target, const Kernel& kernel, const Call& call, Mode mode,
                    const Effort& effort, const Overrides& overrides);

}  // namespace rung
