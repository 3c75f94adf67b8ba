#include "common/harness/point_runner.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "common/harness/count.hpp"
#include "common/harness/interrupt.hpp"
#include "common/harness/say.hpp"
#include "common/harness/statistics.hpp"
#include "common/machine/cpu_info.hpp"
#include "common/problem/trust.hpp"
#include "common/system_call.hpp"

namespace rung {
namespace {

constexpr std::size_t kMostSpans = 200;  // of a timeline that is kept: no picture shows more

/// Adds the time of its life to `seconds`.
class Timed {
 public:
  explicit Timed(double& seconds) : seconds_(seconds), start_(Clock::now()) {}
  Timed(const Timed&) = delete;
  ~Timed() { seconds_ += std::chrono::duration<double>(Clock::now() - start_).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  double& seconds_;
  Clock::time_point start_;
};

Call prepared_call(const Point& point) {
  Call call{.params = point.params()};
  if (point.kernel->gpu.launch) call.launch = point.kernel->gpu.launch(call.params);
  call.launch.dynamic_shared_bytes += static_cast<std::size_t>(point.shared_bytes);
  return call;
}

std::string failure_text(const Check& check, const DataSet& data, const char* when) {
  return fmt::format("wrong result {}, on the data set '{}': {}", when, data.name, check.reason());
}

}  // namespace

/// A point until it has entries; from then on it holds no memory of the target.
struct PointRunner::Attempt {
  const Point* point;
  std::optional<Call> call;  ///< if it is to be measured
  std::unique_ptr<Workload> work;
  PointFacts facts;
  Measurement measurement;
  std::vector<Json> entries;

  void end(Json entry) {
    entries = {std::move(entry)};
    work.reset();
  }
  bool is_over() const { return !entries.empty(); }

  /// Does `action`; a failure of it is the point's end. Throws LostPoint.
  template <typename Action>
  void guard(const Action& action) {
    if (is_over()) return;
    try {
      action();
    } catch (const DeviceLost& lost) {
      throw LostPoint(*point, lost.what());
    } catch (const std::exception& error) {
      end(failed_entry(*point, error.what()));
    }
  }
};

PointRunner::PointRunner(std::shared_ptr<Bench> bench, std::uint64_t seed, const Overrides& overrides)
    : bench_(std::move(bench)), seed_(seed), overrides_(overrides) {
  note_threads(nullptr);
}

std::vector<PointEntries> PointRunner::run(const Group& group, const std::string& not_interleaved) {
  if (group.size() == 1) return run_together(group, not_interleaved);
  if (const std::string reason = group_refusal(group); !reason.empty()) {
    say("{} points of {}: one by one, since together: {}\n", group.size(), group.front()->problem->family, reason);
    return run_alone(group, reason);
  }
  std::vector<PointEntries> results = run_together(group, "");
  if (!std::exchange(trespassed_, false) || group.front()->kernel->side() != "cpu" || interrupted()) return results;
  const std::string why = "memory that none of them may write was written while they were measured together";
  say("{} points of {}: one by one: {}\n", group.size(), group.front()->problem->family, why);
  return run_alone(group, why);
}

std::vector<PointEntries> PointRunner::run_alone(const Group& group, const std::string& why) {
  std::vector<PointEntries> results;
  for (const Point* point : group) {
    const std::vector<PointEntries> one = run_together({point}, why);
    if (one.empty()) return {};
    results.push_back(one.front());
  }
  return results;
}

std::vector<PointEntries> PointRunner::run_together(const Group& group, const std::string& not_interleaved) {
  std::vector<Attempt> attempts;
  for (const Point* point : group) {
    attempts.push_back({.point = point});
    attempts.back().facts.not_interleaved = not_interleaved;
    prepare(attempts.back());
  }
  for (const bool on_exact : {true, false})
    for (Attempt& attempt : attempts) {
      if (interrupted()) return {};
      attempt.guard([&] { verify(attempt, on_exact); });
      machine().host().restore_process();
      if (attempt.call) require_rest(*attempt.point, group);
    }
  measure_all(attempts);
  if (interrupted()) return {};
  for (Attempt& attempt : attempts) {
    const bool was_over = attempt.is_over();
    attempt.guard([&] { conclude(attempt); });
    if (group.size() > 1 && !was_over) trespassed_ |= is_trespass(attempt.entries.front().value("error_message", ""));
  }
  note_threads(group.size() == 1 ? group.front() : nullptr);
  std::vector<PointEntries> results;
  for (Attempt& attempt : attempts) results.push_back({attempt.point, std::move(attempt.entries)});
  return results;
}

namespace {

std::string what_of(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& error) {
    return error.what();
  }
}

/// Why the record of a point's kernel cannot be true; empty if it can.
std::string record_refusal(const Point& point) {
  constexpr double kRounding = 0.999, kBeyondCaches = 4;  // times all caches: what they keep hardly counts
  if (const std::string reason = bound_refusal(*point.kernel, *point.problem); !reason.empty()) return reason;
  if (!point.kernel->cpu.level_traffic) return "";
  const LevelTraffic bytes = point.kernel->cpu.level_traffic(point.params());
  const double least = kRounding * point.problem->compulsory_bytes(point.params());
  const double caches = static_cast<double>(cpu_info().all_l3_bytes + cpu_info().all_l2_bytes);
  const auto too_few = [&](const char* where, double declared) {
    return fmt::format("its level_traffic has {:.3g} bytes {}, its operands alone {:.3g}", declared, where, least);
  };
  if (bytes.l1 < least) return too_few("at the registers", bytes.l1);
  if (bytes.dram < least - kBeyondCaches * caches) return too_few("at memory", bytes.dram);
  return "";
}

/// A library set to more threads than OpenMP gives it hangs or computes wrong results.
std::string few_threads(const Point& point) {
  if (point.threads <= 1) return "";
  const int given = threads_given(point.threads);
  if (given >= point.threads) {
    const int processors = processors_given(point.threads), wanted = std::min(point.threads, usable_processors());
    return processors >= wanted ? ""
                                : fmt::format("{} threads requested, bound to {} of {} processors (OMP_PLACES …)",
                                              point.threads, processors, usable_processors());
  }
  const std::string limit = team_limit();
  return fmt::format("{} threads requested, OpenMP gives {}{}", point.threads, given,
                     limit.empty() ? "" : " (" + limit + ")");
}

}  // namespace

/// Why this point cannot be measured on this machine; empty if it can.
std::string PointRunner::refusal(const Point& point, const Call& call) {
  Target* target = machine().target_of(*point.kernel);
  if (!target) return machine().gpu_unavailable();
  if (std::string reason = target->refuse(*point.kernel, call); !reason.empty()) return reason;
  if (std::string reason = few_threads(point); !reason.empty()) return reason;
  const std::size_t needed = workload_bytes(*point.kernel, *point.problem, call.params);
  if (std::string reason = shortage(needed, free_bytes(*target, needed), ""); !reason.empty()) return reason;
  // In addition to the operands, the host holds two sets of inputs and the outputs being judged.
  const bool on_host = target == &machine().host();
  const std::size_t beside = needed * (on_host ? 4 : 3);
  return shortage(beside, free_bytes(machine().host(), beside), " on the host");
}

/// Releases what is kept for other points if that much is needed.
std::size_t PointRunner::free_bytes(Target& target, std::size_t needed) {
  if (needed > target.free_bytes()) {
    bench_->inputs.clear();
    release_landings();
    machine().host().release_kept();
  }
  return target.free_bytes();
}

/// Why the operands of all cannot be in memory at once; empty if they can, and if the points cannot be measured anyway.
std::string PointRunner::group_refusal(const Group& group) {
  Target* target = machine().target_of(*group.front()->kernel);
  if (!target) return "";
  std::size_t needed = 0, largest = 0;
  for (const Point* point : group) {
    if (!point->skip.empty()) continue;
    const std::size_t bytes = workload_bytes(*point->kernel, *point->problem, point->params());
    needed += bytes;
    largest = std::max(largest, bytes);
  }
  if (needed == largest) return "";  // at most one of them: nothing is held together
  if (std::string reason = shortage(needed, free_bytes(*target, needed), ""); !reason.empty()) return reason;
  const std::size_t on_host = (target == &machine().host() ? needed : 0) + 3 * largest;
  return shortage(on_host, free_bytes(machine().host(), on_host), " on the host");
}

/// Ends a point that is counted or cannot be measured; the others get their call.
void PointRunner::prepare(Attempt& attempt) {
  const Point& point = *attempt.point;
  attempt.guard([&] {
    const UseThreads threads(point.threads);
    if (!point.skip.empty()) return attempt.end(skipped_entry(point, point.skip));
    if (const std::string reason = record_refusal(point); !reason.empty())
      return attempt.end(failed_entry(point, "refused: " + reason));
    if (point.way == Way::count) {
      const Timed timed(spent_.counts);
      const std::size_t needed = count_bytes(point);
      if (const std::string reason = shortage(needed, free_bytes(machine().host(), needed), ""); !reason.empty())
        return attempt.end(skipped_entry(point, reason));
      return attempt.end(counted_entry(point, seed_));
    }
    Call call = prepared_call(point);
    if (const std::string reason = refusal(point, call); !reason.empty())
      return attempt.end(skipped_entry(point, reason));
    attempt.call = std::move(call);
  });
}

/// Runs the kernel on the exact data sets of its problem, or on the one that is timed, which comes last: its inputs
/// stay.
void PointRunner::verify(Attempt& attempt, bool on_exact) {
  if (!on_exact) {
    verify(attempt, *attempt.point->data);
    if (attempt.is_over()) return;
    const Timed timed(spent_.checks);
    if (const std::string failure = attempt.work->reset_failure(); !failure.empty())
      attempt.end(failed_entry(*attempt.point, failure));
    return;
  }
  for (const DataSet& data : attempt.point->problem->data)
    if (data.is_exact && data.name != attempt.point->data->name && !attempt.is_over()) verify(attempt, data);
}

void PointRunner::verify(Attempt& attempt, const DataSet& data) {
  const Point& point = *attempt.point;
  const std::shared_ptr<const HostInputs> given = inputs(point, data);
  if (!attempt.work) {
    const Timed timed(spent_.memory);
    attempt.work = std::make_unique<Workload>(*machine().target_of(*point.kernel), *point.kernel, *point.problem,
                                              *attempt.call, point.threads);
  }
  const auto start = std::chrono::steady_clock::now();
  const double reference = given->reference_seconds();
  Check check;
  try {
    check = judged(*given, [&] { return attempt.work->verify(*given); });
  } catch (const LaunchRefused& refused) {
    return attempt.end(skipped_entry(point, refused.what()));
  }
  if (!check.passed()) return attempt.end(failed_entry(point, failure_text(check, data, "before timing")));
  const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() -
                      (given->reference_seconds() - reference);
  if (took > point.effort.longest_run)
    return attempt.end(
        skipped_entry(point, fmt::format("one run and its check take {:.1f} s, more than the {} s allowed", took,
                                         point.effort.longest_run)));
  attempt.facts.max_error_ratio = std::max(attempt.facts.max_error_ratio, check.max_error_ratio);
  attempt.facts.judged = check.judged;
}

/// Threads that were not there before are of this point's kernel.
void PointRunner::note_threads(const Point* owner) {
  for (const int thread : machine().host().threads()) threads_.try_emplace(thread, owner);
}

/// Throws if threads still run although no kernel does: they would slow down all other kernels. LostPoint if the
/// kernel that made them is one of the group, which is not always the one that has just run; otherwise DeviceLost,
/// which costs no point.
void PointRunner::require_rest(const Point& point, const Group& group) {
  const Timed timed(spent_.checks);
  note_threads(&point);
  std::set<int> restless = machine().target_of(*point.kernel)->restless_threads();
  std::erase_if(restless, [&](int thread) { return !restless_.insert(thread).second; });
  if (restless.empty()) return;
  const std::string why = fmt::format("leaves {} threads running half a second after it has returned", restless.size());
  const auto known = threads_.find(*restless.begin());
  const Point* const owner = known == threads_.end() ? &point : known->second;
  if (std::ranges::find(group, owner) == group.end()) throw DeviceLost("a kernel that was measured before " + why);
  throw LostPoint(*owner, why);
}

/// The verdict of `check` on a result; the time for computing the expected result counts as time for the inputs.
Check PointRunner::judged(const HostInputs& inputs, const std::function<Check()>& check) {
  const Timed timed(spent_.checks);
  const double before = inputs.reference_seconds();
  const Check made = check();
  spent_.checks -= inputs.reference_seconds() - before;
  spent_.inputs += inputs.reference_seconds() - before;
  return made;
}

/// Times those that are not over.
void PointRunner::measure_all(std::vector<Attempt>& attempts) {
  const Timed timed(spent_.samples);
  std::vector<Sampler> samplers;
  std::vector<Attempt*> sampled;
  const UseThreads threads(attempts.front().point->threads);  // as many for all of a group
  for (Attempt& attempt : attempts)
    attempt.guard([&] {
      const Point& point = *attempt.point;
      attempt.facts.reset_seconds = attempt.work->reset_seconds();
      attempt.work->clear_outputs();
      samplers.emplace_back(point.name(), *machine().target_of(*point.kernel), attempt.work->kernel(),
                            attempt.work->call(), point.way == Way::cold ? Mode::cold : Mode::hot, point.effort,
                            overrides_, attempt.work.get());
      sampled.push_back(&attempt);
    });
  if (samplers.empty() || interrupted()) return;
  const std::vector<Together> results = measure_together(samplers, seed_);
  for (std::size_t i = 0; i < results.size() && results.size() > 1; ++i)
    trespassed_ |= results[i].failure && is_trespass(what_of(results[i].failure));
  const auto failed = [](const Together& one) { return one.failure != nullptr; };
  const auto others = static_cast<int>(results.size() - std::count_if(results.begin(), results.end(), failed)) - 1;
  for (std::size_t i = 0; i < results.size(); ++i)
    sampled[i]->guard([&] {
      if (results[i].failure) std::rethrow_exception(results[i].failure);
      sampled[i]->measurement = results[i].measurement;
      sampled[i]->facts.interleaved_with = others;
      sampled[i]->facts.group = sampled.front()->point->name();
    });
}

/// Judges what the timed runs left, and what one that was drawn of the audited ones wrote; then the kernel must do its
/// work again, and if the sizes are small, on new inputs. Nothing of this is timed. How long the
/// kernel itself takes decides nothing here: it could take its time where it is judged.
Check PointRunner::judge_again(Attempt& attempt) {
  constexpr double kFewOperations = 5e7;
  constexpr std::size_t kFewBytes = std::size_t{4} << 20;
  constexpr double kFewSeconds = 0.5, kShort = 0.05;  // of working out what is right
  constexpr std::uint64_t kSeldom = 4;
  const Point& point = *attempt.point;
  const std::shared_ptr<const HostInputs> given = inputs(point, *point.data);
  Check check = judged(*given, [&] { return attempt.work->recheck(*given); });
  if (check.passed()) check.failure = judged(*given, [&] { return Check{.failure = attempt.work->audit()}; }).failure;
  if (check.passed()) check = judged(*given, [&] { return attempt.work->judge_kept(*point.data, seed_); });
  const bool judges_moved = given->reference_seconds() <= kShort || fresh_bits() % kSeldom == 0;
  if (check.passed() && judges_moved)
    check = judged(*given, [&] { return attempt.work->judge_moved(*point.data, seed_); });
  const bool takes_others = given->reference_seconds() <= kFewSeconds && given->bytes() <= kFewBytes &&
                            point.problem->flops(point.params()) <= kFewOperations;
  if (!check.passed() || !takes_others) return check;
  const HostInputs fresh(*point.problem, point.sizes, *point.data, fresh_bits());
  return judged(fresh, [&] { return attempt.work->verify(fresh); });
}

/// Work that the record does not declare: on more threads, or in the reset, which is not timed.
std::string PointRunner::untimed_work(const Attempt& attempt) const {
  constexpr double kMore = 1.2, kOthers = 0.3;             // of processors: what the system and idle threads take
  constexpr double kShare = 0.5, kFilling = 50e-6;         // of a run; seconds that a GPU may take to fill constants
  constexpr double kHostShare = 0.1, kHostFilling = 2e-6;  // a CPU has no constants to fill
  const Point& point = *attempt.point;
  const bool is_on_host = point.kernel->side() == "cpu";
  const int threads = point.kernel->cpu.is_serial ? 1 : std::max(point.threads, 1);
  std::vector<double> processors, seconds;
  for (const Sample& sample : attempt.measurement.samples) {
    seconds.push_back(sample.seconds);
    if (sample.processors)
      processors.push_back(threads == 1 ? sample.processors->of_caller : sample.processors->of_interval);
  }
  if (is_on_host && !processors.empty() && median(processors) > kMore * threads + kOthers)
    return fmt::format("used {:.1f} processors, its record and the point say {}", median(processors), threads);
  const double reset = attempt.facts.reset_seconds;
  if (!seconds.empty() &&
      reset > (is_on_host ? kHostShare : kShare) * median(seconds) + (is_on_host ? kHostFilling : kFilling))
    return fmt::format("its reset, which is not timed, takes {:.3g} s, its run {:.3g} s", reset, median(seconds));
  return "";
}

/// Judges what the timed runs left, and makes the entries.
void PointRunner::conclude(Attempt& attempt) {
  const Point& point = *attempt.point;
  const Check check = judge_again(attempt);
  if (!check.passed()) return attempt.end(failed_entry(point, failure_text(check, *point.data, "after timing")));
  attempt.facts.reset_seconds = attempt.work->reset_seconds();  // the resets before timed runs included
  std::string reason = untimed_work(attempt);
  if (reason.empty()) reason = attempt.work->passes_failure();
  if (!reason.empty()) return attempt.end(failed_entry(point, reason));
  add_device_facts(attempt, *machine().target_of(*point.kernel));
  attempt.entries = sample_entries(point, attempt.measurement, attempt.facts);
  attempt.work.reset();
}

void PointRunner::add_device_facts(Attempt& attempt, Target& target) {
  const Point& point = *attempt.point;
  if (point.kernel->side() != "gpu") return;
  attempt.facts.resources = target.resources(*point.kernel, attempt.work->call());
  if (point.kernel->gpu.launch) attempt.facts.launch = attempt.work->call().launch;
  const auto context = target.context();
  attempt.facts.sm = find_sm_limits(context.value("gpu_compute_capability_major", 0),
                                    context.value("gpu_compute_capability_minor", 0));
  if (point.kernel->gpu.has_timeline) {
    attempt.facts.timeline = target.timeline(*point.kernel, attempt.work->call());
    if (attempt.facts.timeline.size() > kMostSpans) attempt.facts.timeline.clear();
  }
  if (point.way != Way::hot || point.kernel->ceiling) return;
  std::size_t in = 0, out = 0;
  for (const Operand& operand : point.problem->operands(point.sizes)) {
    if (operand.place != Place::device) return;  // the kernel itself copies
    if (operand.is_input()) in += operand.bytes();
    if (operand.is_output()) out += operand.bytes();
  }
  attempt.facts.transfer_seconds = target.transfer_seconds(in, out);
}

void PointRunner::run_once(const Point& point) {
  Workload work(*machine().gpu(), *point.kernel, *point.problem, prepared_call(point));
  const Check check = work.verify(*inputs(point, *point.data));
  if (!check.passed()) throw Error(point.name() + ": " + check.reason());
}

std::shared_ptr<const HostInputs> PointRunner::inputs(const Point& point, const DataSet& data) {
  const Timed timed(spent_.inputs);
  return bench_->inputs.get(*point.problem, point.sizes, data, seed_);
}

}  // namespace rung
