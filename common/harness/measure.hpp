/// Timing verified points with Google Benchmark: one repetition is one sample, until the stop rule has enough.
#pragma once

#include <exception>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "common/harness/experiment.hpp"
#include "common/machine/target.hpp"

namespace rung {

class Workload;

struct Sample {
  double seconds = 0;                       ///< of one run: the timed interval over its runs
  double cpu_seconds = 0;                   ///< of the host's thread, likewise
  std::int64_t runs = 1;                    ///< timed as one interval
  DeviceState state;                        ///< during it
  std::optional<double> energy_j;           ///< of one run, where it is reported and the interval is long enough
  Disturbance disturbance;                  ///< by other work, during the interval
  std::optional<ProcessorTime> processors;  ///< of the process, where the interval is long enough
};

/// The energy of a batch of runs in addition to the samples, where a sample's interval is too short for the counters.
struct EnergyBatch {
  double energy_j = 0;              ///< of one run
  double power_w = 0;               ///< over the whole interval
  std::int64_t runs = 0;            ///< in it
  std::optional<double> clock_mhz;  ///< the device's mean clock meanwhile
};

struct Measurement {
  std::vector<Sample> samples;
  std::string stop_reason;  ///< converged; ratios converged; noise stable above target; wall budget; disturbed;
                            ///< repetitions given; interrupted
  std::optional<EnergyBatch> energy;
  std::map<std::string, double> events;  ///< of one run, by key; see Target::events
};

/// Options of the command line for every point, after Google Benchmark's flags.
struct Overrides {
  int repetitions = 0;     ///< exactly this many samples
  double min_seconds = 0;  ///< a timed interval of at least this
  std::int64_t runs = 0;   ///< a timed interval has exactly this many runs
};

/// Why sampling may stop now, or empty to continue. `seconds`: the samples so far that no other work disturbed;
/// `taken`: how many there are with the disturbed ones; `elapsed`: the time spent on all. Disturbed samples are taken
/// again: up to twice the least number of samples, and, while there is time, up to twice the largest.
std::string stop_reason(const std::vector<double>& seconds, int taken, double elapsed, const Effort& effort);

/// Takes the samples of one point, a few at a time. All members throw what the target throws.
class Sampler {
 public:
  /// `call` has run at least once before. Runs it until it is known how many runs make one interval.
  /// With `work`, which has the call's operands, intervals between the samples are audited: at random times, by the
  /// same path. WrongResult if a run does not do its work, or takes less time on operands that it has seen before.
  Sampler(std::string name, Target& target, const Kernel& kernel, const Call& call, Mode mode, const Effort& effort,
          const Overrides& overrides, Workload* work = nullptr);

  /// All samples in a row.
  Measurement run();
  /// Takes `count` samples more, or fewer if the given repetitions are complete before.
  void take(int count);
  /// Waits until no thread of other points works any more, then makes untimed runs: other points have put their data
  /// into the caches and set the clock of a GPU at its power limit. No such runs where one is so long that this does
  /// not matter, or where points are cold. The first turn of a sweep with a warm-up is warmed up until the power limit
  /// acts.
  void warm_up(bool is_first_of_all);
  /// Exchanges the operands' memory with another sampler that computes the same, as Workload does. require_intact()
  /// throws WrongResult if a run has changed memory that it must not.
  void require_intact();
  void exchange_memory(Sampler& other);
  /// Why it may stop now, or empty.
  std::string stop_reason() const;
  bool has_enough() const;                     ///< the least number of samples, or too many disturbed ones
  double elapsed() const { return elapsed_; }  ///< seconds spent on samples
  const Effort& effort() const { return effort_; }
  /// Half the interval that the ratio to another point may have; 0 where the number of samples is given.
  double ratio_within() const { return overrides_.repetitions > 0 ? 0 : effort_.ratio_within; }
  std::vector<double> seconds() const;                    ///< of the undisturbed samples so far
  std::map<std::size_t, double> seconds_by_turn() const;  ///< of the same, by their number among all

  /// The samples, and, after them, energy and events where the machine reports them.
  Measurement finish(const std::string& stop_reason);

 private:
  std::optional<EnergyBatch> energy_batch(double seconds);
  std::vector<Sample> intervals(int count);
  void audit();
  void audit_one_run();
  void audit_meanwhile();
  bool saves_work(const std::vector<double>& plain) const;
  void require_work();

  std::string name_;
  Target& target_;
  const Kernel& kernel_;
  Call call_;
  Mode mode_;
  Effort effort_;
  Overrides overrides_;
  std::int64_t runs_ = 1;
  std::set<int> own_threads_;  ///< that its runs leave looking for more work
  double elapsed_ = 0;
  std::vector<Sample> samples_;
  Workload* work_ = nullptr;        ///< null: nothing is audited
  std::vector<double> audited_;     ///< seconds of one run on operands that it has not seen, per interval
  double audited_run_ = 0;          ///< the last of them; 0 before
  std::uint64_t audited_runs_ = 0;  ///< by audit_one_run()
};

/// Times `call`, which has run at least once before. Throws what the target throws.
Measurement measure(const std::string& name, Target& target, const Kernel& kernel, const Call& call, Mode mode,
                    const Effort& effort, const Overrides& overrides);

/// What became of one of several points measured together: a measurement, or what stopped it.
struct Together {
  Measurement measurement;
  std::exception_ptr failure;
};

/// Interleaves the samples of all points, a few of each in every round, in an order that `seed` shuffles from round to
/// round, until each may stop, all ratios are as narrow as the sweep requires, or the time of all is spent: a slow
/// second of the machine affects them all. Before each round the points that may exchange their memory do so, at
/// random. All get the same number of samples; samples with the same index are from the same round. A point that fails
/// leaves, the others continue; DeviceLost ends all, and is the failure only of the point that met it. A single point
/// is measured as measure() does.
std::vector<Together> measure_together(std::span<Sampler> samplers, std::uint64_t seed);

}  // namespace rung
