/// `rung run` and `rung ceilings`: measure, and print where the results are.
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "common/harness/interrupt.hpp"
#include "common/harness/more.hpp"
#include "common/harness/point_runner.hpp"
#include "common/harness/progress.hpp"
#include "common/harness/say.hpp"
#include "common/harness/study.hpp"
#include "common/machine/cpu_info.hpp"
#include "common/machine/target.hpp"
#include "common/printable.hpp"
#include "common/program/commands.hpp"
#include "common/registry.hpp"

namespace rung {
namespace {

constexpr int kLongestInterval = 1000;  // seconds, of --benchmark_min_time
constexpr int kMostRuns = 1'000'000;    // in an interval, likewise

struct RunOptions {
  StudyOptions study;
  MoreChoice more;
  std::vector<std::string> experiments, kernels, axes;
  std::string min_time, format = "json", outdir, extra_context;
  bool profile = false, full = false, in_process = false;

  Scale scale() const { return full ? Scale::full : Scale::brief; }
};

/// Google Benchmark's flags and their environment twins (BENCHMARK_FILTER …) mean here what they mean there.
void add_benchmark_flags(Command command, RunOptions& options) {
  const auto as_there = [](CommandOption option, const char* flag) {
    std::string variable = std::string(flag).substr(2);
    for (char& c : variable) c = static_cast<char>(std::toupper(c));
    return option.envname(variable).group("As in Google Benchmark");
  };
  const auto add = [&](const char* flag, auto& value, const char* help) {
    return as_there(command.add_option(flag, value, help), flag);
  };
  const auto add_flag = [&](const char* flag, bool& value, const char* help) {
    as_there(command.add_flag(flag, value, help), flag);
  };
  add("--benchmark_filter", options.study.filter, "only points whose name matches this regular expression");
  add("--benchmark_repetitions", options.study.overrides.repetitions, "exactly this many samples of each point")
      .within(1, 100000);
  add("--benchmark_min_time", options.min_time,
      "a timed interval of at least this many seconds (0.5 or 0.5s), or of this many runs (10x)");
  add("--benchmark_out", options.study.copy_to, "write the results file there, too");
  add("--benchmark_out_format", options.format, "json").one_of({"json"});
  add("--benchmark_context", options.extra_context, "own keys for the context: key=value,key=value");
  add_flag("--benchmark_list_tests", options.study.list_only, "print the points' names and stop");
  add_flag("--benchmark_dry_run", options.study.dry_run, "verify each point and take one sample of it");
}

void add_study_flags(Command command, RunOptions& options) {
  command.add_option("-o,--outdir", options.outdir, "folder of the runs (default: results/HOST)");
  command.add_option("-d,--device", options.study.device, "number of the GPU").within(0, 1023);
  command.add_option("--seed", options.study.seed, "of the inputs and of the order of the points: 0 to 2^64 - 1");
  command.add_flag("--resume", options.study.resume, "continue the newest run of this experiment that did not end");
  command
      .add_option("--point-limit", options.study.point_seconds,
                  "a point that takes this many seconds longer than its samples has failed")
      .within(1.0, 1e6);
  command.add_flag("--in-process", options.in_process, "measure in this process itself, for a debugger");
  command.add_flag("--full", options.full, "all sizes and samples, as in the recorded results; brief without it");
  command.add_flag("--require-gpu", options.study.require_gpu, "without a GPU, end with code 3");
}

/// "0.5", "0.5s" or "10x" of --benchmark_min_time.
void set_interval(const std::string& text, Overrides& overrides) {
  std::size_t used = 0;
  double value = 0;
  try {
    value = std::stod(text, &used);
  } catch (const std::exception&) {
    used = 0;
  }
  const std::string unit = text.substr(used);
  const bool is_runs = unit == "x" && value == std::floor(value);
  if (used == 0 || !(value > 0) || !(unit.empty() || unit == "s" || is_runs))
    throw Error("--benchmark_min_time=" + text + ": give seconds, as 0.5 or 0.5s, or runs, as 10x");
  if (value > (is_runs ? kMostRuns : kLongestInterval))
    throw Error(fmt::format("--benchmark_min_time={}: give at most {} s, or {}x", text, kLongestInterval, kMostRuns));
  if (is_runs)
    overrides.runs = static_cast<std::int64_t>(value);
  else
    overrides.min_seconds = value;
}

void complete_options(RunOptions& options) {
  StudyOptions& study = options.study;
  study.outdir = options.outdir.empty() ? "results/" + host_name() : options.outdir;
  if (!options.min_time.empty()) set_interval(options.min_time, study.overrides);
  if (study.dry_run) study.overrides = {.repetitions = 1, .min_seconds = 1e-9};
  std::stringstream pairs(options.extra_context);
  for (std::string pair; std::getline(pairs, pair, ',');) {
    const std::size_t equals = pair.find('=');
    if (equals == std::string::npos) throw Error("--benchmark_context=" + pair + ": write it as key=value");
    study.context.emplace_back(pair.substr(0, equals), pair.substr(equals + 1));
  }
  std::ifstream command_line("/proc/self/cmdline");
  for (std::string argument; std::getline(command_line, argument, '\0');)  // the program without its folder
    study.command_line +=
        study.command_line.empty() ? std::filesystem::path(argument).filename().string() : " " + shell_word(argument);
  if (study.require_gpu)
    if (const GpuTarget gpu = open_gpu(study.device); !gpu.target) throw NoGpuError("no GPU: " + gpu.unavailable);
}

/// Runs one experiment; ends the program where it was interrupted, with the shell's code for that.
StudyOutcome run_one(const Experiment& experiment, const RunOptions& options) {
  say("{}: {}\n", experiment.name, experiment.title);
  StudyOutcome outcome;
  try {
    outcome = run_study(experiment, options.study);
  } catch (const DeviceLost& lost) {
    if (!options.study.supervision.watch) throw;
    say("{}\nthe others need a new process: continuing with the next point\n", lost.what());
    std::fflush(nullptr);
    _exit(announce_end(kAnotherProcess));
  }
  say("{} measured, {} skipped, {} failed: {}\n", outcome.measured, outcome.skipped, outcome.failed,
      outcome.folder.string());
  if (outcome.interrupted) {
    say("interrupted: what was measured is kept; the same command with --resume does the rest\n");
    std::fflush(nullptr);
    _exit(announce_end(130));
  }
  return outcome;
}

/// The points of the result that --more names, and the options that follow from it.
Experiment more_experiment(RunOptions& options) {
  if (!options.experiments.empty() || !options.axes.empty() || options.profile)
    throw Error("--more takes the points of its result: no EXPERIMENT, --axis or --profile");
  options.more.kernels = options.kernels;
  More more = more_of(options.more, options.study.bench->machine);
  if (options.outdir.empty()) options.outdir = more.outdir.string();
  options.study.more_of = more.of;
  options.study.seed = more.seed;
  return std::move(more.experiment);
}

std::vector<Experiment> chosen_experiments(RunOptions& options) {
  if (!options.more.result.empty()) return {more_experiment(options)};
  if (!options.more.points.empty()) throw Error("--points needs --more");
  std::vector<Experiment> chosen;
  if (!options.kernels.empty()) chosen.push_back(adhoc_experiment(options.kernels, options.axes));
  for (const std::string& name : options.experiments)
    chosen.push_back(load_experiment(find_experiment(name), options.scale()));
  if (!chosen.empty()) return chosen;
  for (const std::string& name : experiment_names())
    chosen.push_back(load_experiment(find_experiment(name), options.scale()));
  return chosen;
}

/// Says which kernels of these experiments are refused, and drops the experiments that have no others. Returns the
/// kernels' names.
std::set<std::string> drop_refused(std::vector<Experiment>& chosen, bool says) {
  std::map<std::string, std::string> all;
  for (const Experiment& experiment : chosen) all.insert(experiment.refused.begin(), experiment.refused.end());
  std::set<std::string> names;
  for (const auto& [name, reason] : all) {
    if (says) say("REFUSED {}: {}\n", name, reason);
    names.insert(name);
  }
  std::erase_if(chosen,
                [](const Experiment& experiment) { return experiment.points.empty() && !experiment.refused.empty(); });
  return names;
}

/// Where a run of several experiments was interrupted, those before the interrupted one are done.
void drop_finished(std::vector<Experiment>& chosen, const StudyOptions& options) {
  auto first = std::find_if(chosen.begin(), chosen.end(),
                            [&](const Experiment& experiment) { return !resumable_run(experiment, options).empty(); });
  if (first == chosen.end())  // one that cannot be resumed reports why
    first = std::find_if(chosen.begin(), chosen.end(), [&](const Experiment& experiment) {
      return !unfinished_runs(options.outdir, experiment.name).empty();
    });
  if (first != chosen.end()) chosen.erase(chosen.begin(), first);
}

/// Keeps the points that a profiler can watch: all, or only points whose experiment requests counters. Drops
/// experiments without any.
void keep_profiled(std::vector<Experiment>& chosen, bool all) {
  for (Experiment& experiment : chosen)
    std::erase_if(experiment.points,
                  [&](const Point& point) { return !can_be_profiled(point) || (!all && !point.has_counters); });
  std::erase_if(chosen, [](const Experiment& experiment) { return experiment.points.empty(); });
}

void run_all(RunOptions& options) {
  Supervision& supervision = options.study.supervision;
  if (!options.in_process && !options.profile && !options.study.list_only) supervision = supervise();
  if (!options.axes.empty() && options.kernels.empty()) throw Error("--axis needs --kernels");
  const bool is_more = !options.more.result.empty();
  if (is_more || (!options.profile && !options.study.list_only))
    options.study.bench = std::make_shared<Bench>(options.study.device);
  std::vector<Experiment> chosen = chosen_experiments(options);
  const std::set<std::string> refused = drop_refused(chosen, supervision.is_first);
  if (options.profile) keep_profiled(chosen, !options.study.filter.empty());
  complete_options(options);
  if (!supervision.is_first) {
    chosen.erase(chosen.begin(), chosen.begin() + supervision.watch->experiment);
  } else if (options.study.resume) {
    const std::size_t all = chosen.size();
    drop_finished(chosen, options.study);
    if (supervision.watch) supervision.watch->experiment = static_cast<int>(all - chosen.size());
  }
  Progress progress;
  for (const Experiment& experiment : chosen) progress.plan(selected_points(experiment, options.study.filter));
  options.study.progress = &progress;
  int failed = supervision.watch ? supervision.watch->failed.load() : 0;
  for (const Experiment& experiment : chosen) {
    if (options.study.list_only) {
      for (const Point* point : selected_points(experiment, options.study.filter)) fmt::print("{}\n", point->name());
    } else if (options.profile) {
      profile_study(experiment, options.study);
    } else {
      failed += run_one(experiment, options).failed;
      if (supervision.watch) supervision.watch->finish_experiment(failed);
    }
  }
  if (failed > 0) throw WrongResult(fmt::format("{} points failed: see the lines marked FAILED", failed));
  if (!refused.empty())
    throw WrongResult(fmt::format("{} kernels are refused: {}", refused.size(), fmt::join(refused, ", ")));
}

void print_ceilings(const std::filesystem::path& folder) {
  for (const std::string side : {"cpu", "gpu"}) {
    std::ifstream file(folder / ("ceilings-" + side + ".json"));
    if (!file) continue;
    const auto roofs = nlohmann::ordered_json::parse(file);
    fmt::print("\n{}\n", roofs.value("machine", ""));
    for (const auto& [part, word] : {std::pair{"empirical", "measured"}, {"spec", "data sheet"}})
      for (const auto& [quantity, unit] : {std::pair{"gflops", "GFLOP/s"}, {"gbytes", "GB/s"}})
        for (const auto& roof : roofs[part][quantity]["data"])
          fmt::print("  {:<34} {:>12.1f} {:<8} {}\n", roof[0].get<std::string>(), roof[1].get<double>(), unit, word);
  }
}

void add_run(Command program) {
  auto options = std::make_shared<RunOptions>();
  Command command = program.add_subcommand("run", "measure experiments (all of them if none is named)");
  command.add_option("EXPERIMENT", options->experiments, "names in experiments/, or TOML files");
  command.add_option("-k,--kernels", options->kernels, "measure these kernels (globs) instead of an experiment");
  command.add_option("-a,--axis", options->axes,
                     "with --kernels: a size, a tunable or another key of a sweep, as n=256,512 or threads=1,0");
  command.add_flag("--profile", options->profile,
                   "run each GPU point once, untimed, for a profiler: counted points, too, and points of sweeps with "
                   "counters = true, or the points that --benchmark_filter names");
  command.add_option(
      "--more", options->more.result,
      "take further samples of the points of this results file, with the same build on the same machine, "
      "into a file of their own below its folder (\"more\"); `rung compare` joins them");
  command.add_option("--points", options->more.points,
                     "with --more: only the points that this file names, one per line, as `rung compare --undecided` "
                     "writes it");
  add_study_flags(command, *options);
  add_benchmark_flags(command, *options);
  command.callback([options] { run_all(*options); });
}

void add_ceilings(Command program) {
  auto options = std::make_shared<RunOptions>();
  Command command = program.add_subcommand("ceilings", "measure the roofs of both sides and print them");
  add_study_flags(command, *options);
  add_benchmark_flags(command, *options);
  command.callback([options] {
    if (!options->in_process) options->study.supervision = supervise();
    complete_options(*options);
    const StudyOutcome outcome = run_one(load_experiment(find_experiment("ceilings"), options->scale()), *options);
    print_ceilings(outcome.folder);
    if (outcome.failed > 0) throw WrongResult(fmt::format("{} ceilings failed", outcome.failed));
  });
}

const bool added = add_command({.order = 20, .add = add_run}) && add_command({.order = 50, .add = add_ceilings});

}  // namespace
}  // namespace rung
