#include "common/harness/measure.hpp"

#include <benchmark/benchmark.h>
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <memory>
#include <numeric>
#include <string_view>
#include <utility>

#include "build_libraries.hpp"
#include "common/harness/interrupt.hpp"
#include "common/harness/statistics.hpp"
#include "common/harness/workload.hpp"
#include "common/system_call.hpp"

namespace rung {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kRound = 5;                 // samples between two looks at the stop rule
constexpr int kTurn = 3;                  // samples of one of several points measured together, before the next one's
constexpr double kLongRun = 0.1;          // seconds; what the caches held before no longer matters
constexpr double kCountedSeconds = 0.02;  // of runs whose events are counted: many turns of the counters
constexpr double kCheapSeconds = 0.1;     // spent on energy without being asked to
constexpr double kSettled = 1.0;          // seconds until a GPU's power limit has acted on what a kernel draws
constexpr double kEnergyIntervals = 1.2;  // an energy batch lasts this many times what the counters resolve
constexpr double kLongAudit = 0.02;       // of audited runs, once it is known how long they take
constexpr double kShort = 2e-3;           // of runs while inputs change
constexpr std::int64_t kTight = 4;        // runs that follow each other
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

/// The library's way to write no seconds at all: since 1.8 a number without "s" costs a warning for each point.
std::string no_seconds() {
  for (const build::Library& it : build::kLibraries) {
    int major = 0, minor = 0;
    if (std::string_view(it.name) != "Google Benchmark") continue;
    if (std::sscanf(it.version, "%d.%d", &major, &minor) == 2 && std::pair(major, minor) >= std::pair(1, 8))
      return "0s";
  }
  return "0";
}

/// Google Benchmark reads flags from the environment (BENCHMARK_LIST_TESTS …), most of them before main(). Those that
/// rung has are read by command_run.cpp; the library gets none, since how often a point runs is decided here.
void ignore_environment_of_library() {
  static const bool done = [] {
    std::string words[] = {"rung",
                           "--benchmark_list_tests=false",
                           "--benchmark_filter=.",
                           "--benchmark_min_time=" + no_seconds(),
                           "--benchmark_min_warmup_time=0",
                           "--benchmark_repetitions=1",
                           "--benchmark_dry_run=false",
                           "--benchmark_enable_random_interleaving=false",
                           "--benchmark_report_aggregates_only=false",
                           "--benchmark_display_aggregates_only=false",
                           "--benchmark_format=console",
                           "--benchmark_out=",
                           "--benchmark_out_format=json",
                           "--benchmark_color=auto",
                           "--benchmark_counters_tabular=false",
                           "--benchmark_context=",
                           "--benchmark_time_unit=",
                           "--benchmark_perf_counters=",
                           "--v=0"};
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    int count = static_cast<int>(arguments.size());
    arguments.push_back(nullptr);
    benchmark::Initialize(&count, arguments.data());  // what this version does not have stays among the arguments
    return true;
  }();
  static_cast<void>(done);
}

void require(const std::string& failure) {
  if (!failure.empty()) throw WrongResult("wrong result while it was timed: " + failure);
}

/// The number of runs that are timed as one interval, found by running it: enough for the clock to resolve them.
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

/// `count` samples as repetitions of one Google Benchmark. With `work`, WrongResult if the run that begins one leaves
/// words of the outputs as they were.
std::vector<Sample> take_samples(const std::string& name, Target& target, const Kernel& kernel, const Call& call,
                                 Mode mode, std::int64_t runs, int count, Workload* work) {
  ignore_environment_of_library();
  std::vector<DeviceState> states;
  std::vector<std::optional<double>> energies;
  std::vector<Disturbance> disturbances;
  std::vector<std::optional<ProcessorTime>> processors;
  std::exception_ptr failure;
  benchmark::RegisterBenchmark(name.c_str(),
                               [&](benchmark::State& state) {
                                 while (state.KeepRunningBatch(runs)) {
                                   if (interrupted() || failure) {
                                     state.SkipWithError("interrupted");
                                     return;
                                   }
                                   try {
                                     if (work) work->mark_outputs(runs);
                                     state.SetIterationTime(target.time(kernel, call, runs, mode));
                                     if (work) require(work->mark_left());
                                   } catch (...) {  // an exception must not cross the library
                                     failure = std::current_exception();
                                     state.SkipWithError("failed");
                                     return;
                                   }
                                 }
                                 disturbances.push_back(target.disturbance());
                                 energies.push_back(target.energy_j());
                                 processors.push_back(target.processor_time());
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
                       run.cpu_accumulated_time / double(run.iterations), run.iterations, states[i], energies[i],
                       disturbances[i], processors[i]});
    if (energies[i]) samples.back().energy_j = *energies[i] / double(run.iterations);
  }
  return samples;
}

/// Runs that fill `interval` seconds, at `seconds` each.
std::int64_t runs_within(double interval, double seconds) {
  return std::clamp<std::int64_t>(std::int64_t(std::ceil(1.1 * interval / std::max(seconds, 1e-9))), 1, kMostRuns);
}

/// Whether all that are left may stop, or have spent the time of all.
bool may_stop(std::span<const Sampler> samplers, const std::vector<std::size_t>& left) {
  double spent = 0, budget = 0;
  bool all_may = true, all_have_enough = true;
  for (const std::size_t which : left) {
    const Sampler& sampler = samplers[which];
    spent += sampler.elapsed();
    budget += sampler.effort().seconds;
    all_may = all_may && !sampler.stop_reason().empty();
    all_have_enough = all_have_enough && sampler.has_enough();
  }
  return all_may || interrupted() || (all_have_enough && spent >= budget);
}

/// Whether the interval of the median quotient, turn by turn, of every two is as narrow as their sweep requires.
bool know_their_ratios(std::span<const Sampler> samplers, const std::vector<std::size_t>& left) {
  std::vector<std::map<std::size_t, double>> seconds;
  for (const std::size_t which : left) {
    if (samplers[which].ratio_within() == 0 || !samplers[which].has_enough()) return false;
    seconds.push_back(samplers[which].seconds_by_turn());
  }
  for (std::size_t one = 1; one < left.size(); ++one)
    for (std::size_t other = 0; other < one; ++other) {
      std::vector<double> quotients;
      for (const auto& [turn, mine] : seconds[one])
        if (const auto others = seconds[other].find(turn); others != seconds[other].end())
          quotients.push_back(mine / others->second);
      if (quotients.empty()) return false;
      const Interval interval = interval_within_run(quotients);
      const double wanted = samplers[left[one]].ratio_within();
      if (!((interval.high - interval.low) / 2 <= wanted * median(quotients))) return false;
    }
  return left.size() > 1;
}

/// The order of a round: the same for the same seed.
std::vector<std::size_t> shuffled(std::vector<std::size_t> order, std::uint64_t seed, std::uint64_t round) {
  for (std::size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[random_bits(seed, round * order.size() + i) % i]);
  return order;
}

/// Each permutation with the same chance, where all may exchange.
void exchange_memory(std::span<Sampler> samplers, const std::vector<std::size_t>& left) {
  for (std::size_t i = left.size(); i > 1; --i)
    if (const std::size_t other = fresh_bits() % i; other != i - 1)
      samplers[left[i - 1]].exchange_memory(samplers[left[other]]);
}

bool is_lost(const std::exception_ptr& failure) {
  if (!failure) return false;
  try {
    std::rethrow_exception(failure);
  } catch (const DeviceLost&) {
    return true;
  } catch (...) {
    return false;
  }
}

}  // namespace

std::string stop_reason(const std::vector<double>& seconds, int taken, double elapsed, const Effort& effort) {
  const int count = static_cast<int>(seconds.size());
  if (count < effort.min_samples) {
    const bool may_go_on =
        taken < 2 * effort.min_samples || (elapsed < effort.seconds && taken < 2 * effort.max_samples);
    return count < taken && !may_go_on ? "disturbed" : "";
  }
  const Interval interval = median_interval(seconds);
  const bool is_narrow = (interval.high - interval.low) / 2 <= effort.target_half_width * median(seconds);
  if (is_narrow && effort.ratio_within == 0) return "converged";
  if (elapsed >= effort.seconds) return "wall budget";
  if (count >= effort.max_samples || taken >= 2 * effort.max_samples) return "noise stable above target";
  return "";
}

Sampler::Sampler(std::string name, Target& target, const Kernel& kernel, const Call& call, Mode mode,
                 const Effort& effort, const Overrides& overrides, Workload* work)
    : name_(std::move(name)),
      target_(target),
      kernel_(kernel),
      call_(call),
      mode_(mode),
      effort_(effort),
      overrides_(overrides),
      work_(work) {
  target.settle();
  const double least = overrides.min_seconds > 0 ? overrides.min_seconds : target.resolved_seconds();
  runs_ = overrides.runs > 0 ? overrides.runs : runs_per_sample(target, kernel, call, mode, least);
  own_threads_ = target.busy_threads();
}

std::vector<Sample> Sampler::intervals(int count) {
  std::vector<Sample> taken = take_samples(name_, target_, kernel_, call_, mode_, runs_, count, work_);
  if (taken.empty() && !interrupted()) throw Error("no sample was taken of it");  // else it would be tried for ever
  return taken;
}

/// An audited interval comes among the first samples and, at a random place, in about a quarter of the later calls. A
/// sample follows it, so that the outputs belong to the inputs again.
void Sampler::take(int count) {
  constexpr std::uint64_t kSeldom = 4;
  if (overrides_.repetitions > 0) count = std::min(count, overrides_.repetitions - static_cast<int>(samples_.size()));
  if (count <= 0) return;
  const auto start = Clock::now();
  const auto add = [&](int some) {
    if (some == 0) return;
    const std::vector<Sample> taken = intervals(some);
    samples_.insert(samples_.end(), taken.begin(), taken.end());
  };
  int before = 0;
  if (work_ && (audited_.empty() || fresh_bits() % kSeldom == 0)) {
    before = static_cast<int>(fresh_bits() % static_cast<std::uint64_t>(count));
    add(before);
    const bool is_first = audited_.empty();
    const bool is_of_intervals = is_first || fresh_bits() % 2 == 0;
    if (is_of_intervals) audit();
    if (work_ && (is_first || !is_of_intervals)) audit_one_run();
    if (work_ && is_first) audit_meanwhile();
  }
  add(count - before);
  if (work_) require(work_->left_behind());
  elapsed_ += since(start);
}

/// Times a random number of runs back to back, as in a sample, and changes inputs and outputs just before the last one.
/// A kernel cannot distinguish the audited run from the others. What that run wrote is checked.
void Sampler::audit_one_run() {
  const auto any = 1 + fresh_bits() % static_cast<std::uint64_t>(std::max<std::int64_t>(runs_, 1));
  const std::int64_t runs = work_->reads_outputs() ? 1 : static_cast<std::int64_t>(any);
  work_->disturb_last(runs);
  target_.time(kernel_, call_, runs, mode_);
  if (fresh_bits() % ++audited_runs_ == 0) work_->keep_result();  // any one of them, with the same chance
  require(work_->undisturb());
}

/// Of runs that follow each other, since what prepares an audited one can be seen in when it begins.
void Sampler::audit_meanwhile() {
  constexpr std::int64_t kFewest = 4, kFew = 64;
  constexpr int kIntervals = 4, kMost = 40;  // since a kernel may do its work in some of them
  if (mode_ == Mode::cold || runs_ < kFewest) return;
  const int looks = runs_ < kFew ? 24 : 400;  // in all: on a busy machine some intervals have none
  int looked = 0;
  for (int i = 0; i < kIntervals || (i < kMost && looked < looks); ++i)
    require(work_->mark_meanwhile([this] { target_.time(kernel_, call_, runs_, mode_); }, runs_, audited_run_, looked));
  target_.run(kernel_, call_);  // over what is marked
}

/// Times runs that see inputs and outputs which the kernel has not left like this. They are called from the place that
/// samples are, and no sample's own time is changed by it.
void Sampler::audit() {
  const auto prepare = [this] { work_->disturb(); };
  const std::unique_ptr<Target, void (*)(Target*)> ends(&target_, [](Target* target) { target->prepare_runs({}); });
  if (!target_.prepare_runs(prepare)) {
    work_ = nullptr;
    return;
  }
  std::int64_t runs = (runs_ + 1) / 2;
  if (audited_run_ > 0) runs = std::min(runs, runs_within(kLongAudit, audited_run_));
  const std::vector<Sample> taken = take_samples(name_, target_, kernel_, call_, mode_, runs, 1, nullptr);
  require(work_->undisturb());
  for (const Sample& one : taken) audited_.push_back(audited_run_ = one.seconds);
}

/// Whether nine of ten audited intervals, compared with each plain one, take longer than a prepared run has to.
bool Sampler::saves_work(const std::vector<double>& plain) const {
  constexpr double kLonger = 1.25, kPreparing = 2e-6, kMost = 0.9;
  double longer = 0;
  for (const double audited : audited_)
    for (const double seconds : plain) longer += audited > kLonger * seconds + kPreparing;
  return longer > 0 && longer >= kMost * static_cast<double>(audited_.size() * plain.size());
}

/// Where runs seem to save work, both kinds of intervals are measured again, interleaved: the machine may have been
/// busy.
void Sampler::require_work() {
  constexpr int kRounds = 8, kFewRounds = 4;
  constexpr double kPatience = 5;  // seconds
  std::vector<double> plain;
  for (const Sample& sample : samples_) plain.push_back(sample.seconds);
  if (!work_ || !saves_work(plain)) return;
  plain.clear();
  audited_.clear();
  const auto start = Clock::now();
  for (int round = 0; round < kRounds && !interrupted() && (round < kFewRounds || since(start) < kPatience); ++round) {
    audit();
    for (const Sample& sample : intervals(1)) plain.push_back(sample.seconds);
  }
  if (saves_work(plain) && !interrupted())
    throw WrongResult(
        fmt::format("a run takes {:.3g} s, but {:.3g} s where inputs and outputs differ from the "
                    "previous run's: it does not do its work again",
                    median(plain), median(audited_)));
}

void Sampler::warm_up(bool is_first_of_all) {
  target_.settle(own_threads_);
  if (mode_ == Mode::cold || (!samples_.empty() && samples_.back().seconds > kLongRun)) return;
  const auto start = Clock::now();
  const double asked = effort_.warm_up > 0 && is_first_of_all ? std::max(effort_.warm_up, kSettled) : effort_.warm_up;
  const double least = std::max(target_.warm_up_seconds(), asked);
  do target_.run(kernel_, call_);
  while (since(start) < least);
}

void Sampler::require_intact() {
  if (work_) require(work_->exchange_failure());
}

void Sampler::exchange_memory(Sampler& other) {
  if (!work_ || !other.work_) return;
  work_->exchange_memory(*other.work_);
  call_.operands = work_->call().operands;
  other.call_.operands = other.work_->call().operands;
}

std::vector<double> Sampler::seconds() const {
  std::vector<double> all;
  for (const auto& [turn, seconds] : seconds_by_turn()) all.push_back(seconds);
  return all;
}

std::map<std::size_t, double> Sampler::seconds_by_turn() const {
  std::map<std::size_t, double> all;
  for (std::size_t turn = 0; turn < samples_.size(); ++turn)
    if (!samples_[turn].disturbance.is_one()) all[turn] = samples_[turn].seconds;
  return all;
}

std::string Sampler::stop_reason() const {
  if (interrupted()) return "interrupted";
  const std::size_t undisturbed = seconds().size();
  if (overrides_.repetitions > 0)
    return !has_enough() ? "" : 2 * undisturbed < samples_.size() ? "disturbed" : "repetitions given";
  return rung::stop_reason(seconds(), static_cast<int>(samples_.size()), elapsed_, effort_);
}

bool Sampler::has_enough() const {
  if (overrides_.repetitions > 0) return static_cast<int>(samples_.size()) >= overrides_.repetitions;
  return static_cast<int>(seconds().size()) >= effort_.min_samples || stop_reason() == "disturbed";
}

Measurement Sampler::finish(const std::string& stop_reason) {
  require_work();
  if (work_ && mode_ == Mode::hot && !interrupted()) {
    require(work_->known_inputs_failure());
    if (runs_ >= kTight)
      require(work_->moved_meanwhile_failure(std::clamp(runs_within(kShort, audited_run_), kTight, runs_)));
    target_.run(kernel_, call_);  // a result of the inputs as they are
  }
  if (work_ && !interrupted()) audit_meanwhile();  // again, as a kernel may skip work when it has been looked at
  Measurement measurement{.samples = samples_, .stop_reason = stop_reason};
  if (interrupted() || samples_.empty() || mode_ == Mode::cold) return measurement;
  std::vector<double> all;
  for (const Sample& sample : samples_) all.push_back(sample.seconds);
  const double of_one_run = median(all);
  const auto has_energy = [](const Sample& sample) { return sample.energy_j.has_value(); };
  if (!std::all_of(samples_.begin(), samples_.end(), has_energy)) measurement.energy = energy_batch(of_one_run);
  measurement.events = target_.events(kernel_, call_, runs_within(kCountedSeconds, of_one_run));
  return measurement;
}

std::optional<EnergyBatch> Sampler::energy_batch(double seconds) {
  const double interval = kEnergyIntervals * target_.energy_seconds();
  if (!std::isfinite(interval) || (interval > kCheapSeconds && !effort_.energy)) return std::nullopt;
  if (interval > kCheapSeconds) target_.time(kernel_, call_, runs_within(kSettled, seconds), mode_);
  EnergyBatch batch{.runs = runs_within(interval, seconds)};
  const double took = target_.time(kernel_, call_, batch.runs, mode_);
  const std::optional<double> joules = target_.energy_j();
  if (!joules) return std::nullopt;
  batch.energy_j = *joules / static_cast<double>(batch.runs);
  batch.power_w = *joules / took;
  batch.clock_mhz = target_.state().clock_mhz;
  return batch;
}

Measurement Sampler::run() {
  effort_.ratio_within = 0;                // to nothing
  if (effort_.warm_up > 0) warm_up(true);  // alone, but warmed up as in its group
  take(overrides_.repetitions > 0 ? overrides_.repetitions : effort_.min_samples);
  while (stop_reason().empty()) take(kRound);
  return finish(stop_reason());
}

Measurement measure(const std::string& name, Target& target, const Kernel& kernel, const Call& call, Mode mode,
                    const Effort& effort, const Overrides& overrides) {
  return Sampler(name, target, kernel, call, mode, effort, overrides).run();
}

std::vector<Together> measure_together(std::span<Sampler> samplers, std::uint64_t seed) {
  std::vector<Together> results(samplers.size());
  const auto guarded = [&](std::size_t which, const auto& action) {
    try {
      action(samplers[which]);
    } catch (...) {
      results[which].failure = std::current_exception();
    }
  };
  if (samplers.size() == 1) {
    guarded(0, [&](Sampler& sampler) { results[0].measurement = sampler.run(); });
    return results;
  }
  std::vector<std::size_t> left(samplers.size());
  std::iota(left.begin(), left.end(), 0);
  bool ratios_converged = false, has_begun = false;
  std::uint64_t next_look = 0;
  const auto leave_failed = [&] {
    std::erase_if(left, [&](std::size_t which) { return results[which].failure != nullptr; });
  };
  for (std::uint64_t round = 0; !left.empty() && !ratios_converged && !may_stop(samplers, left); ++round) {
    for (const std::size_t which : left) guarded(which, [](Sampler& sampler) { sampler.require_intact(); });
    leave_failed();
    exchange_memory(samplers, left);
    for (const std::size_t which : shuffled(left, seed, round)) {
      guarded(which, [&](Sampler& sampler) {
        sampler.warm_up(!std::exchange(has_begun, true));
        sampler.take(kTurn);
      });
      if (is_lost(results[which].failure)) return results;
    }
    leave_failed();
    if (round < next_look) continue;
    ratios_converged = know_their_ratios(samplers, left);
    next_look = round + 1 + round / 10;  // rarely, so that no lucky moment ends it
  }
  for (const std::size_t which : left)
    guarded(which, [&](Sampler& sampler) {
      const std::string own = sampler.stop_reason();
      results[which].measurement = sampler.finish(!own.empty()       ? own
                                                  : ratios_converged ? "ratios converged"
                                                                     : "wall budget");
    });
  return results;
}

}  // namespace rung
