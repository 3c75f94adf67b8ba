#include "common/harness/study.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>

#include "common/harness/interrupt.hpp"
#include "common/harness/journal.hpp"
#include "common/harness/progress.hpp"
#include "common/harness/results.hpp"
#include "common/harness/target.hpp"
#include "common/harness/workload.hpp"

namespace rung {
namespace {

/// The machine's two sides, each opened when a point first needs it.
class Machine {
 public:
  explicit Machine(int device) : device_(device) {}

  Target& host() {
    if (!host_) host_ = open_host();
    return *host_;
  }
  /// Null where there is no GPU; gpu_unavailable() says why.
  Target* gpu() {
    if (!gpu_opened_) gpu_ = open_gpu(device_);
    gpu_opened_ = true;
    return gpu_.target.get();
  }
  const std::string& gpu_unavailable() const { return gpu_.unavailable; }
  Target* target_of(const Kernel& kernel) { return kernel.side() == "cpu" ? &host() : gpu(); }

  /// The context keys of both sides; the GPU's also if no point used it, so that a result always says what was there.
  Json context() {
    Json all = Json::object();
    all.update(Json(host().context()));
    if (gpu()) {
      all.update(Json(gpu()->context()));
    } else {
      all["gpu_unavailable"] = gpu_unavailable();
    }
    return all;
  }

 private:
  int device_;
  std::unique_ptr<Target> host_;
  GpuTarget gpu_;
  bool gpu_opened_ = false;
};

std::vector<const Point*> selected(const Experiment& experiment, const std::string& filter) {
  const bool inverted = filter.starts_with("-");
  const std::string pattern = inverted ? filter.substr(1) : filter;
  std::vector<const Point*> points;
  try {
    const std::regex expression(pattern == "all" ? "" : pattern);
    for (const Point& point : experiment.points)
      if (std::regex_search(point.name(), expression) != inverted) points.push_back(&point);
  } catch (const std::regex_error& error) {
    throw Error("--benchmark_filter=" + filter + " is no regular expression: " + error.what());
  }
  if (points.empty()) throw Error("--benchmark_filter=" + filter + " leaves no point of " + experiment.name);
  return points;
}

/// A random order that depends on the seed and the names alone, not on the library's shuffle.
void shuffle(std::vector<const Point*>& points, std::uint64_t seed) {
  const auto key = [&](const Point* point) {
    return random_bits(seed, std::stoull(checksum(point->name()), nullptr, 16));
  };
  std::sort(points.begin(), points.end(), [&](const Point* a, const Point* b) { return key(a) < key(b); });
}

Call prepared_call(const Point& point) {
  Call call{.params = point.params()};
  if (point.kernel->launch) call.launch = point.kernel->launch(call.params);
  call.launch.dynamic_shared_bytes += static_cast<std::size_t>(point.shared_bytes);
  return call;
}

std::string megabytes(std::size_t bytes) { return fmt::format("{:.1f} MB", double(bytes) * 1e-6); }

/// Why this point cannot be measured on this machine; empty if it can.
std::string refusal(const Point& point, Machine& machine, const Call& call) {
  if (!point.skip.empty()) return point.skip;
  Target* target = machine.target_of(*point.kernel);
  if (!target) return machine.gpu_unavailable();
  if (std::string reason = target->refuse(*point.kernel, call); !reason.empty()) return reason;
  const std::size_t needed = workload_bytes(*point.problem, point.sizes);
  const bool on_host = target == &machine.host();
  if (needed > target->free_bytes())
    return "needs " + megabytes(needed) + ", " + megabytes(target->free_bytes()) + " are free";
  // Beside the operands the host holds two sets of inputs and the outputs being judged.
  const std::size_t on_the_host = needed * (on_host ? 4 : 3);
  if (on_the_host > machine.host().free_bytes())
    return "needs " + megabytes(on_the_host) + " on the host, " + megabytes(machine.host().free_bytes()) + " are free";
  return "";
}

class Study {
 public:
  Study(const StudyOptions& options) : options_(options), machine_(options.device), cache_(cache_limit()) {}

  Machine& machine() { return machine_; }

  /// The entries of one point, whatever becomes of it. Throws DeviceLost alone.
  std::vector<Json> run(const Point& point) {
    try {
      if (point.way == Way::count)
        return {point.skip.empty() ? counted_entry(point, options_.seed) : skipped_entry(point, point.skip)};
      Call call = prepared_call(point);
      if (const std::string reason = refusal(point, machine_, call); !reason.empty())
        return {skipped_entry(point, reason)};
      return measured(point, std::move(call));
    } catch (const DeviceLost&) {
      throw;
    } catch (const std::exception& error) {
      return {failed_entry(point, error.what())};
    }
  }

  /// Runs it once on random inputs.
  void run_once(const Point& point) {
    Workload work(*machine_.gpu(), *point.kernel, *point.problem, point.sizes, prepared_call(point));
    const Check check = work.verify(*inputs(point, Fill::random));
    if (!check.passed()) throw Error(point.name() + ": " + check.failure);
  }

 private:
  std::size_t cache_limit() { return machine_.host().free_bytes() / 4; }

  std::shared_ptr<const HostInputs> inputs(const Point& point, Fill fill) {
    return cache_.get(*point.problem, point.sizes, fill, options_.seed);
  }

  std::vector<Json> measured(const Point& point, Call prepared) {
    Target& target = *machine_.target_of(*point.kernel);
    Workload work(target, *point.kernel, *point.problem, point.sizes, std::move(prepared));
    PointFacts facts;
    for (const Fill fill : {Fill::integers, Fill::random}) {
      const std::shared_ptr<const HostInputs> given = inputs(point, fill);
      const auto start = std::chrono::steady_clock::now();
      const Check check = work.verify(*given);
      if (!check.passed()) return {failed_entry(point, failure_text(check, fill, "before timing"))};
      const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      if (took > point.effort.longest_run)
        return {skipped_entry(point, fmt::format("one run and its check take {:.1f} s, more than the {} s allowed",
                                                 took, point.effort.longest_run))};
      facts.max_error_ratio = std::max(facts.max_error_ratio, check.max_error_ratio);
    }
    const Mode mode = point.way == Way::cold ? Mode::cold : Mode::hot;
    const Measurement measurement =
        measure(point.name(), target, *point.kernel, work.call(), mode, point.effort, options_.overrides);
    const Check check = work.recheck(*inputs(point, Fill::random));
    if (!check.passed()) return {failed_entry(point, failure_text(check, Fill::random, "after timing"))};
    if (interrupted()) return {};
    add_device_facts(point, target, work.call(), facts);
    return sample_entries(point, measurement, facts);
  }

  void add_device_facts(const Point& point, Target& target, const Call& call, PointFacts& facts) {
    if (point.kernel->side() != "gpu") return;
    facts.resources = target.resources(*point.kernel, call);
    if (point.kernel->launch) facts.launch = call.launch;
    const auto context = target.context();
    facts.sm =
        sm_limits(context.value("gpu_compute_capability_major", 0), context.value("gpu_compute_capability_minor", 0));
    if (point.way != Way::hot || point.kernel->ceiling) return;
    std::size_t in = 0, out = 0;
    for (const Operand& operand : point.problem->operands(point.sizes))
      (operand.is_output ? out : in) += operand.bytes();
    facts.transfer_seconds = target.transfer_seconds(in, out);
  }

  static std::string failure_text(const Check& check, Fill fill, const char* when) {
    const std::string what =
        check.failure.empty() ? fmt::format("error {:.3g} times its bound", check.max_error_ratio) : check.failure;
    return fmt::format("wrong result {}, on {} inputs: {}", when, fill == Fill::integers ? "integer" : "random", what);
  }

  const StudyOptions& options_;
  Machine machine_;
  InputCache cache_;
};

std::string stamp() {
  const std::time_t now = std::time(nullptr);
  char text[32];
  std::strftime(text, sizeof text, "%Y%m%dT%H%M%SZ", std::gmtime(&now));
  return text;
}

std::filesystem::path run_folder(const Experiment& experiment, const StudyOptions& options) {
  if (options.resume) {
    const std::filesystem::path found = unfinished_run(options.outdir, experiment.name);
    if (!found.empty()) return found;
    fmt::print("nothing to resume in {}: starting anew\n", options.outdir.string());
  }
  const std::string first = (options.outdir / (stamp() + "-" + experiment.name)).string();
  std::filesystem::path folder = first;
  for (int i = 2; exists(folder); ++i)
    folder = first.substr(0, first.size() - experiment.name.size()) + std::to_string(i) + "-" + experiment.name;
  return folder;
}

/// What must be equal for two runs to be parts of one: the program, the points, the seed, the way of sampling.
std::string identity(const std::vector<const Point*>& points, const StudyOptions& options) {
  std::ifstream program("/proc/self/exe", std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(program), {}};
  for (const Point* point : points) text += point->name() + fmt::format("|{}|", point->effort.seconds);
  return checksum(text +
                  fmt::format("{} {} {}", options.seed, options.overrides.repetitions, options.overrides.min_seconds));
}

Json opening_context(const Experiment& experiment, const StudyOptions& options) {
  Json context = base_context(options.command_line);
  context["experiment"] = experiment.name;
  context["title"] = experiment.title;
  context["question"] = experiment.question;
  context["experiment_toml"] = experiment.text;
  context["seed"] = options.seed;
  for (const auto& [key, value] : options.context) context[key] = value;
  return context;
}

void write_results(const Experiment& experiment, const StudyOptions& options, const std::filesystem::path& folder,
                   const Json& context, const std::vector<Json>& entries) {
  const std::string text = results_text(context, entries);
  write_file(folder / (experiment.name + ".json"), text);
  if (!options.copy_to.empty()) write_file(options.copy_to, text);
  for (const std::string side : {"cpu", "gpu"})
    if (const Json roofs = ceilings(side, context, entries); !roofs.is_null())
      write_file(folder / ("ceilings-" + side + ".json"), roofs.dump(1) + "\n");
}

void tally(const std::vector<Json>& records, StudyOutcome& outcome, std::vector<Json>& entries) {
  for (const Json& record : records) {
    const Json& first = record["entries"].front();
    ++(first.value("skipped", false)          ? outcome.skipped
       : first.value("error_occurred", false) ? outcome.failed
                                              : outcome.measured);
    for (const Json& entry : record["entries"]) entries.push_back(entry);
  }
}

void measure_points(const std::vector<const Point*>& points, Study& study, Journal& journal) {
  std::set<std::string> done;
  for (const Json& record : journal.records()) done.insert(record["point"].get<std::string>());
  Progress progress(done.size(), points.size());
  for (const Point* point : points) {
    if (interrupted()) break;
    const std::string name = point->name();
    if (done.contains(name)) continue;
    progress.begin(name);
    std::vector<Json> entries;
    try {
      entries = study.run(*point);
    } catch (const DeviceLost& lost) {
      journal.append({{"point", name}, {"entries", {failed_entry(*point, lost.what())}}});
      throw;
    }
    if (entries.empty()) break;  // interrupted in the middle of it
    journal.append({{"point", name}, {"entries", entries}});
    progress.finish(name, entries);
  }
  progress.end();
}

}  // namespace

StudyOutcome run_study(const Experiment& experiment, const StudyOptions& options) {
  std::vector<const Point*> points = selected(experiment, options.filter);
  shuffle(points, options.seed);
  Study study(options);
  StudyOutcome outcome{.folder = run_folder(experiment, options)};
  Journal journal(outcome.folder / "journal.jsonl",
                  {{"identity", identity(points, options)}, {"context", opening_context(experiment, options)}});
  measure_points(points, study, journal);
  outcome.interrupted = interrupted();
  std::vector<Json> entries;
  tally(journal.records(), outcome, entries);
  Json context = journal.header()["context"];
  context["complete"] = journal.records().size() == points.size();
  context["interrupted"] = outcome.interrupted;
  context["points_planned"] = points.size();
  context["points_done"] = journal.records().size();
  context.update(study.machine().context());
  context["kernels"] = kernel_descriptions(experiment.points);
  write_results(experiment, options, outcome.folder, context, entries);
  if (context["complete"]) std::filesystem::remove(outcome.folder / "journal.jsonl");
  return outcome;
}

std::filesystem::path unfinished_run(const std::filesystem::path& outdir, const std::string& experiment) {
  std::filesystem::path newest;  // a run that ended has no journal any more
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(outdir, none))
    if (entry.path().filename().string().ends_with("-" + experiment) && exists(entry.path() / "journal.jsonl"))
      newest = std::max(newest, entry.path());
  return newest;
}

void profile_study(const Experiment& experiment, const StudyOptions& options) {
  Study study(options);
  if (!study.machine().gpu()) throw Error("--profile needs a GPU: " + study.machine().gpu_unavailable());
  for (const Point* point : selected(experiment, options.filter)) {
    if (point->kernel->side() != "gpu" || point->way == Way::cold || !point->skip.empty()) continue;
    fmt::print("{}\n", point->name());
    std::fflush(stdout);
    study.run_once(*point);
  }
}

std::vector<std::string> selected_names(const Experiment& experiment, const std::string& filter) {
  std::vector<std::string> names;
  for (const Point* point : selected(experiment, filter)) names.push_back(point->name());
  return names;
}

}  // namespace rung
