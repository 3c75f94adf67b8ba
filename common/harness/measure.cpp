#include "common/harness/measure.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "common/harness/interrupt.hpp"
#include "common/harness/statistics.hpp"

namespace rung {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kRound = 5;  // samples between two looks at the stop rule
constexpr std::int64_t kMostRuns = 100'000;

double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// Keeps each repetition; prints nothing, since the study prints its own line for a point.
class Collector : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs)
      if (run.run_type == Run::RT_Iteration) repetitions.push_back(run);
  }
  std::vector<Run> repetitions;
};

/// Runs a batch that is timed as one interval: as many as the clock needs to resolve it.
std::int64_t runs_per_sample(Target& target, const Kernel& kernel, const Call& call, Mode mode, double least) {
  if (mode == Mode::cold) return 1;
  std::int64_t runs = 1;
  double seconds = target.time(kernel, call, runs, mode);
  while (seconds < least && runs < kMostRuns) {  // a first guess from one run is far off: launch latency dominates it
    const double wanted = std::ceil(1.2 * least / std::max(seconds / double(runs), 1e-9));
    runs = std::clamp<std::int64_t>(std::int64_t(wanted), runs + 1, std::min(runs * 20, kMostRuns));
    seconds = target.time(kernel, call, runs, mode);
  }
  return runs;
}

/// `count` samples as repetitions of one Google Benchmark.
std::vector<Sample> take_samples(const std::string& name, Target& target, const Kernel& kernel, const Call& call,
                                 Mode mode, std::int64_t runs, int count) {
  std::vector<DeviceState> states;
  std::exception_ptr failure;
  benchmark::RegisterBenchmark(name.c_str(),
                               [&](benchmark::State& state) {
                                 while (state.KeepRunningBatch(runs)) {
                                   if (interrupted() || failure) {
                                     state.SkipWithError("interrupted");
                                     return;
                                   }
                                   try {
                                     state.SetIterationTime(target.time(kernel, call, runs, mode));
                                   } catch (...) {  // an exception must not cross the library
                                     failure = std::current_exception();
                                     state.SkipWithError("failed");
                                     return;
                                   }
                                 }
                                 states.push_back(target.state());
                               })
      ->UseManualTime()
      ->Iterations(runs)
      ->Repetitions(count);
  Collector collector;
  benchmark::RunSpecifiedBenchmarks(&collector, ".");
  benchmark::ClearRegisteredBenchmarks();
  if (failure) std::rethrow_exception(failure);
  std::vector<Sample> samples;
  for (std::size_t i = 0; i < std::min(states.size(), collector.repetitions.size()); ++i) {
    const auto& run = collector.repetitions[i];
    samples.push_back({run.real_accumulated_time / double(run.iterations),
                       run.cpu_accumulated_time / double(run.iterations), run.iterations, states[i]});
  }
  return samples;
}

}  // namespace

std::string stop_reason(const std::vector<double>& seconds, double elapsed, const Effort& effort) {
  const int count = static_cast<int>(seconds.size());
  if (count < effort.min_samples) return "";
  const Interval interval = median_interval(seconds);
  if ((interval.high - interval.low) / 2 <= effort.target_half_width * median(seconds)) return "converged";
  if (elapsed >= effort.seconds) return "wall budget";
  if (count >= effort.max_samples) return "noise stable above target";
  return "";
}

Measurement measure(const std::string& name, Target& target, const Kernel& kernel, const Call& call, Mode mode,
                    const Effort& effort, const Overrides& overrides) {
  const double least = overrides.min_seconds > 0 ? overrides.min_seconds : target.resolved_seconds();
  const std::int64_t runs = runs_per_sample(target, kernel, call, mode, least);
  Measurement measurement;
  std::vector<double> seconds;
  const auto start = Clock::now();
  while (measurement.stop_reason.empty()) {
    const int first = overrides.repetitions > 0 ? overrides.repetitions : effort.min_samples;
    const int count = seconds.empty() ? first : kRound;
    for (const Sample& sample : take_samples(name, target, kernel, call, mode, runs, count)) {
      measurement.samples.push_back(sample);
      seconds.push_back(sample.seconds);
    }
    if (interrupted()) {
      measurement.stop_reason = "interrupted";
    } else if (overrides.repetitions > 0) {
      measurement.stop_reason = "repetitions given";
    } else {
      measurement.stop_reason = stop_reason(seconds, since(start), effort);
    }
  }
  return measurement;
}

}  // namespace rung
