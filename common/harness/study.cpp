#include "common/harness/study.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>

#include "common/harness/interrupt.hpp"
#include "common/harness/journal.hpp"
#include "common/harness/point_runner.hpp"
#include "common/harness/progress.hpp"
#include "common/harness/results.hpp"
#include "common/harness/roofs.hpp"
#include "common/harness/statistics.hpp"
#include "common/machine/cpu_info.hpp"

namespace rung {
namespace {

/// A random order that depends on the seed and the names alone, not on the library's shuffle.
void shuffle(std::vector<const Point*>& points, std::uint64_t seed) {
  const auto key = [&](const Point* point) {
    return random_bits(seed, std::stoull(checksum(point->name()), nullptr, 16));
  };
  std::sort(points.begin(), points.end(), [&](const Point* a, const Point* b) { return key(a) < key(b); });
}

/// The points as they are measured, in this order: those of a group at the place of the first of them.
std::vector<Group> grouped(const std::vector<const Point*>& points) {
  std::vector<Group> groups;
  std::map<int, std::size_t> place;
  for (const Point* point : points) {
    const auto [found, is_new] = place.try_emplace(point->group, groups.size());
    if (point->group > 0 && !is_new) {
      groups[found->second].push_back(point);
    } else {
      groups.push_back({point});
    }
  }
  return groups;
}

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

/// What must be equal for two runs to be parts of one: the program, the points and how each is sampled, the seed.
std::string identity(const std::vector<const Point*>& points, const StudyOptions& options) {
  std::ifstream program("/proc/self/exe", std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(program), {}};
  for (const Point* point : points) text += design(*point) + "\n";
  return checksum(text +
                  fmt::format("{} {} {}", options.seed, options.overrides.repetitions, options.overrides.min_seconds));
}

Json opening_context(const Experiment& experiment, const StudyOptions& options) {
  Json context = base_context(options.command_line);
  context["experiment"] = experiment.name;
  context["title"] = experiment.title;
  context["question"] = experiment.question;
  context["study"] = scale_name(experiment.scale);
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

/// Calls `use` with each point's name and entries: a record of the journal holds the points of one group.
template <typename Use>
void each_recorded(const std::vector<Json>& records, const Use& use) {
  for (const Json& record : records)
    for (const Json& point : record["points"]) use(point["point"].get<std::string>(), point["entries"]);
}

Json journal_record(const std::vector<PointEntries>& results) {
  Json points = Json::array();
  for (const auto& [point, entries] : results) points.push_back({{"point", point->name()}, {"entries", entries}});
  return {{"points", points}};
}

void tally(const std::vector<Json>& records, StudyOutcome& outcome, std::vector<Json>& entries) {
  std::set<std::string> seen;  // a roof may be measured again
  each_recorded(records, [&](const std::string& name, const Json& of_point) {
    for (const Json& entry : of_point) entries.push_back(entry);
    if (!seen.insert(name).second) return;
    const Json& first = of_point.front();
    ++(first.value("skipped", false)          ? outcome.skipped
       : first.value("error_occurred", false) ? outcome.failed
                                              : outcome.measured);
  });
}

/// More threads than processors are allowed, and said: they take turns, and the rates tell so.
void say_oversubscribed(const std::vector<const Point*>& points) {
  const auto count = std::count_if(points.begin(), points.end(), [](const Point* p) { return p->is_oversubscribed(); });
  if (count > 0)
    fmt::print("{} points use more threads than the {} processors that this process may use\n", count,
               usable_processors());
}

void measure_points(const std::vector<const Point*>& points, PointRunner& runner, Journal& journal,
                    Progress& progress) {
  std::set<std::string> done;
  each_recorded(journal.records(), [&](const std::string& name, const Json&) { done.insert(name); });
  for (Group& group : grouped(points)) {
    if (interrupted()) break;
    std::erase_if(group, [&](const Point* point) { return done.contains(point->name()); });
    if (group.empty()) continue;
    progress.begin(*group.front(), group.size());
    std::vector<PointEntries> results;
    try {
      results = runner.run(group);
    } catch (const LostPoint& lost) {
      journal.append(journal_record({{lost.point, {failed_entry(*lost.point, lost.what())}}}));
      throw;
    }
    if (results.empty()) break;  // interrupted in the middle of it
    journal.append(journal_record(results));
    for (const auto& [point, entries] : results) progress.finish(*point, entries);
  }
}

std::vector<const Point*> done_points(const std::vector<const Point*>& points, const std::vector<Json>& records) {
  std::set<std::string> names;
  each_recorded(records, [&](const std::string& name, const Json&) { names.insert(name); });
  std::vector<const Point*> done;
  for (const Point* point : points)
    if (names.contains(point->name())) done.push_back(point);
  return done;
}

/// The median rates of every point that the journal has samples of; of a roof measured again, the highest.
std::vector<MeasuredPoint> measured_points(const std::vector<const Point*>& points, const std::vector<Json>& records) {
  std::map<std::string, const Point*> by_name;
  for (const Point* point : points) by_name[point->name()] = point;
  std::map<std::string, MeasuredPoint> found;
  each_recorded(records, [&](const std::string& name, const Json& entries) {
    const auto point = by_name.find(name);
    if (point == by_name.end() || !entries.front().contains("gbytes_per_s")) return;
    std::vector<double> flops, bytes;
    for (const Json& entry : entries) {
      flops.push_back(entry.value("gflops", 0.0));
      bytes.push_back(entry.value("gbytes_per_s", 0.0));
    }
    MeasuredPoint& one = found.try_emplace(name, MeasuredPoint{point->second}).first->second;
    one.gflops = std::max(one.gflops, median(flops));
    one.gbytes_per_s = std::max(one.gbytes_per_s, median(bytes));
  });
  std::vector<MeasuredPoint> all;
  for (const auto& [name, one] : found) all.push_back(one);
  return all;
}

/// Measures roofs that verified points exceed again, twice at most.
void measure_roofs_again(const std::vector<const Point*>& points, PointRunner& runner, Journal& journal) {
  const Json context = runner.machine().context();
  const double cached = std::max<double>(cpu_info().all_l3_bytes, context.value("gpu_l2_bytes", 0.0));
  for (int round = 1; round <= 2; ++round) {
    const auto roofs = exceeded_roofs(measured_points(points, journal.records()), cached);
    if (roofs.empty() || interrupted()) return;
    fmt::print("{} roofs are lower than what was measured below them (a busy machine?): measuring them again\n",
               roofs.size());
    for (const Point* roof : roofs) {
      std::vector<PointEntries> results = runner.run({roof});
      if (results.empty()) return;
      for (Json& entry : results.front().entries) entry["remeasured"] = round;
      journal.append(journal_record(results));
    }
  }
}

}  // namespace

StudyOutcome run_study(const Experiment& experiment, const StudyOptions& options) {
  std::vector<const Point*> points = selected_points(experiment, options.filter);
  shuffle(points, options.seed);
  if (!options.copy_to.empty()) check_writable(options.copy_to);
  PointRunner runner(options.device, options.seed, options.overrides);
  StudyOutcome outcome{.folder = run_folder(experiment, options)};
  Journal journal(outcome.folder / "journal.jsonl",
                  {{"identity", identity(points, options)}, {"context", opening_context(experiment, options)}});
  if (journal.damaged() > 0)
    fmt::print("{} lines of {} are damaged: what they had is measured again\n", journal.damaged(),
               (outcome.folder / "journal.jsonl").string());
  say_oversubscribed(points);
  Progress own;
  Progress& progress = options.progress ? *options.progress : own;
  if (!options.progress) own.plan(points);
  progress.begin_experiment(experiment.name, done_points(points, journal.records()), points.size());
  measure_points(points, runner, journal, progress);
  progress.end_experiment();
  if (!interrupted()) measure_roofs_again(points, runner, journal);
  outcome.interrupted = interrupted();
  std::vector<Json> entries;
  tally(journal.records(), outcome, entries);
  const TimeSpent& spent = runner.spent();
  fmt::print(
      "time: {:.1f} s for inputs and references, {:.1f} s for memory, {:.1f} s for checks, {:.1f} s for samples\n",
      spent.inputs, spent.memory, spent.checks, spent.samples);
  const auto done = static_cast<std::size_t>(outcome.measured + outcome.skipped + outcome.failed);
  Json context = journal.header()["context"];
  context["complete"] = done == points.size();
  context["interrupted"] = outcome.interrupted;
  context["points_planned"] = points.size();
  context["points_done"] = done;
  context.update(runner.machine().context());
  context["kernels"] = kernel_descriptions(experiment.points);
  context["problems"] = problem_descriptions(experiment.points);
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

bool can_be_profiled(const Point& point) {
  return point.kernel->side() == "gpu" && point.way != Way::cold && point.skip.empty();
}

void profile_study(const Experiment& experiment, const StudyOptions& options) {
  PointRunner runner(options.device, options.seed, options.overrides);
  if (!runner.machine().gpu()) throw Error("--profile needs a GPU: " + runner.machine().gpu_unavailable());
  for (const Point* point : selected_points(experiment, options.filter)) {
    if (!can_be_profiled(*point)) continue;
    fmt::print("{}\n", point->name());
    std::fflush(stdout);
    runner.machine().gpu()->mark_point();
    try {
      runner.run_once(*point);
    } catch (const DeviceLost&) {
      throw;
    } catch (const Error& error) {
      fmt::print("FAILED {}: {}\n", point->name(), error.what());
    }
  }
}

std::vector<const Point*> selected_points(const Experiment& experiment, const std::string& filter) {
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

}  // namespace rung
