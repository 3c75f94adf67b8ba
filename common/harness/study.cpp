#include "common/harness/study.hpp"

#include <fmt/core.h>
#include <regex.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <sstream>

#include "common/harness/interrupt.hpp"
#include "common/harness/journal.hpp"
#include "common/harness/point_runner.hpp"
#include "common/harness/progress.hpp"
#include "common/harness/results.hpp"
#include "common/harness/roofs.hpp"
#include "common/harness/say.hpp"
#include "common/harness/statistics.hpp"
#include "common/json_text.hpp"
#include "common/machine/cpu_info.hpp"

namespace rung {
namespace {

constexpr const char* kJournal = "journal.jsonl";

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
  const Supervision& supervision = options.supervision;
  if (!supervision.is_first && supervision.watch->folder[0]) return supervision.watch->folder;
  if (options.resume) {
    const auto unfinished = unfinished_runs(options.outdir, experiment.name);
    const std::filesystem::path found = resumable_run(experiment, options);
    if (!found.empty()) return found;
    if (!unfinished.empty()) return unfinished.front();  // which the journal refuses, saying why
    say("nothing to resume in {}: starting anew\n", options.outdir.string());
  }
  const std::string time = stamp();
  std::error_code outer, failed, none;
  std::filesystem::create_directories(options.outdir, outer);
  for (int i = 1;; ++i) {  // only one of several that start in the same second makes a folder
    const std::filesystem::path folder =
        options.outdir / (time + (i > 1 ? "-" + std::to_string(i) : "") + "-" + experiment.name);
    if (std::filesystem::create_directory(folder, failed)) return folder;
    if (failed && !exists(folder, none))
      throw OutputError("cannot make " + folder.string() + ": " + (outer ? outer : failed).message() +
                        "; choose another folder with --outdir");
  }
}

std::string program_checksum() {
  static const std::string sum = [] {
    std::ostringstream bytes;
    bytes << std::ifstream("/proc/self/exe", std::ios::binary).rdbuf();
    return checksum(bytes.str());
  }();
  return sum;
}

/// The variables that decide how the libraries and the kernels compute.
Json environment() {
  constexpr const char* kBeginnings[] = {"OMP_",    "GOMP_",          "KMP_",  "OPENBLAS_", "GOTO_",
                                         "DNNL_",   "ONEDNN_",        "CUDA_", "CUBLAS_",   "NVIDIA_TF32",
                                         "MALLOC_", "GLIBC_TUNABLES", "LD_"};
  std::map<std::string, std::string> found;
  for (char** variable = environ; *variable; ++variable) {
    const std::string text = *variable;
    const bool counts = std::any_of(std::begin(kBeginnings), std::end(kBeginnings),
                                    [&](const char* beginning) { return text.starts_with(beginning); });
    if (const std::size_t equals = text.find('='); counts && equals != std::string::npos)
      found[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return found;
}

/// What must be equal for two runs to be parts of one: the program, the points and how each is sampled, the seed, and
/// where they run.
Json identity(const std::vector<const Point*>& points, const StudyOptions& options) {
  std::set<std::string> each;  // their order is the seed's
  for (const Point* point : points) each.insert(design(*point));
  std::string designs;
  for (const std::string& one : each) designs += one + "\n";
  return {{"program", program_checksum()},
          {"points", checksum(designs)},
          {"seed", options.seed},
          {"benchmark_repetitions", options.overrides.repetitions},
          {"benchmark_min_time", options.overrides.min_seconds},
          {"benchmark_min_time_runs", options.overrides.runs},
          {"device", options.device},
          {"processor", cpu_info().name},
          {"processors", usable_processors()},
          {"environment", environment()}};
}

std::vector<const Point*> shuffled_points(const Experiment& experiment, const StudyOptions& options) {
  std::vector<const Point*> points = selected_points(experiment, options.filter);
  shuffle(points, options.seed);
  return points;
}

/// Keys that the end of a run adds to the context; the machine's own keys come with them.
constexpr const char* kClosing[] = {"complete",      "interrupted", "points_planned", "points_done",
                                    "seconds_spent", "kernels",     "problems",       "checksum"};

/// Whether a key of the user's would be taken for one of the results; a GPU's keys are reserved without a GPU, too.
bool is_reserved(const std::string& key, const Json& opening, const Json& machine) {
  return opening.contains(key) || machine.contains(key) || key.starts_with("gpu_") ||
         std::find(std::begin(kClosing), std::end(kClosing), key) != std::end(kClosing);
}

/// Throws Error for a key of the user's own that is reserved.
Json opening_context(const Experiment& experiment, const StudyOptions& options, const Json& machine) {
  Json context = base_context(options.command_line);
  context["experiment"] = experiment.name;
  context["title"] = experiment.title;
  context["question"] = experiment.question;
  context["study"] = scale_name(experiment.scale);
  context["experiment_toml"] = experiment.text;
  context["seed"] = options.seed;
  const Json own = context;
  for (const auto& [key, value] : options.context) {
    if (is_reserved(key, own, machine))
      throw Error("--benchmark_context: '" + key + "' is a key that results have: choose another one");
    context[key] = value;
  }
  return context;
}

void write_results(const Experiment& experiment, const StudyOptions& options, const std::filesystem::path& folder,
                   const Json& context, const std::vector<Json>& entries) {
  const std::string text = results_text(context, entries);
  write_file(folder / (experiment.name + ".json"), text);
  if (!options.copy_to.empty()) write_file(options.copy_to, text);
  for (const std::string side : {"cpu", "gpu"})
    if (const Json roofs = ceilings(side, context, entries); !roofs.is_null())
      write_file(folder / ("ceilings-" + side + ".json"), json_text(roofs, 1) + "\n");
}

/// Calls `use` with each point's name and entries: a record of the journal holds the points of one group.
template <typename Use>
void each_recorded(const std::vector<Json>& records, const Use& use) {
  for (const Json& record : records)
    if (holds_points(record))
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
  if (cpu_threads() < threads_asked_for())
    say("{} threads were requested, OpenMP gives {} ({})\n", threads_asked_for(), cpu_threads(), team_limit());
  const auto count = std::count_if(points.begin(), points.end(), [](const Point* p) { return p->is_oversubscribed(); });
  if (count > 0)
    say("{} points use more threads than the {} processors that this process may use\n", count, usable_processors());
}

/// Says what is measured to the process that looks after this one, if there is one.
class Watched {
 public:
  Watched(const Group& group, const StudyOptions& options) : watch_(options.supervision.watch) {
    if (!watch_) return;
    constexpr double kSlower = 10;  // than planned: a busy machine, or memory that is swapped
    std::vector<std::string> names;
    double seconds = options.point_seconds;
    for (const Point* point : group) {
      names.push_back(point->name());
      seconds += kSlower * point->effort.seconds;
    }
    watch_->begin(names, seconds);
  }
  ~Watched() {
    if (watch_) watch_->end();
  }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

 private:
  Watch* watch_;
};

/// The groups, but one by one those points with whose group a process was lost.
std::vector<Group> without_lost_groups(std::vector<Group> groups, const Supervision& supervision) {
  std::vector<Group> parted;
  for (Group& group : groups) {
    if (!supervision.alone.contains(group.front()->name())) {
      parted.push_back(std::move(group));
      continue;
    }
    for (const Point* point : group) parted.push_back({point});
  }
  return parted;
}

void measure_points(const std::vector<const Point*>& points, PointRunner& runner, Journal& journal,
                    const StudyOptions& options, Progress& progress) {
  const Supervision& supervision = options.supervision;
  std::set<std::string> done;
  each_recorded(journal.records(), [&](const std::string& name, const Json&) { done.insert(name); });
  for (Group& group : without_lost_groups(grouped(points), supervision)) {
    if (interrupted()) break;
    std::erase_if(group, [&](const Point* point) { return done.contains(point->name()); });
    if (group.empty()) continue;
    const std::string& name = group.front()->name();
    progress.begin(*group.front(), group.size());
    std::vector<PointEntries> results;
    const Watched watched(group, options);
    const auto lost = supervision.lost.find(name), alone = supervision.alone.find(name);
    if (lost != supervision.lost.end()) {
      results.push_back({group.front(), {failed_entry(*group.front(), lost->second)}});
    } else
      try {
        results = runner.run(group, alone == supervision.alone.end() ? "" : "together, one " + alone->second);
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
void measure_roofs_again(const std::vector<const Point*>& points, PointRunner& runner, Journal& journal,
                         const StudyOptions& options) {
  const Json context = runner.machine().context();
  const double cached = std::max<double>(cpu_info().all_l3_bytes, context.value("gpu_l2_bytes", 0.0));
  for (int round = 1; round <= 2; ++round) {
    auto roofs = exceeded_roofs(measured_points(points, journal.records()), cached);
    std::erase_if(roofs, [&](const Point* roof) { return options.supervision.lost.contains(roof->name()); });
    if (roofs.empty() || interrupted()) return;
    say("{} roofs are lower than what was measured below them (a busy machine?): measuring them again\n", roofs.size());
    for (const Point* roof : roofs) {
      const Watched watched({roof}, options);
      std::vector<PointEntries> results = runner.run({roof});
      if (results.empty()) return;
      for (Json& entry : results.front().entries) entry["remeasured"] = round;
      journal.append(journal_record(results));
    }
  }
}

}  // namespace

StudyOutcome run_study(const Experiment& experiment, const StudyOptions& options) {
  const InterruptsWait waiting;
  const std::vector<const Point*> points = shuffled_points(experiment, options);
  if (!options.copy_to.empty()) check_writable(options.copy_to);
  PointRunner runner(options.bench ? options.bench : std::make_shared<Bench>(options.device), options.seed,
                     options.overrides);
  const Json opening = opening_context(experiment, options, runner.machine().context());
  StudyOutcome outcome{.folder = run_folder(experiment, options)};
  if (options.supervision.watch) options.supervision.watch->set_folder(outcome.folder);
  Journal journal(outcome.folder / kJournal, {{"identity", identity(points, options)}, {"context", opening}});
  const auto of_others = std::count_if(journal.records().begin(), journal.records().end(), std::not_fn(holds_points));
  if (const auto damaged = journal.damaged() + of_others; damaged > 0)
    say("{} lines of {} are damaged: what they had is measured again\n", damaged, (outcome.folder / kJournal).string());
  say_oversubscribed(points);
  Progress own;
  Progress& progress = options.progress ? *options.progress : own;
  if (!options.progress) own.plan(points);
  progress.begin_experiment(experiment.name, done_points(points, journal.records()), points.size());
  measure_points(points, runner, journal, options, progress);
  progress.end_experiment();
  if (!interrupted()) measure_roofs_again(points, runner, journal, options);
  outcome.interrupted = interrupted();
  std::vector<Json> entries;
  tally(journal.records(), outcome, entries);
  const TimeSpent& spent = runner.spent();
  say("time: {:.1f} s for inputs and references, {:.1f} s for memory, {:.1f} s for checks, {:.1f} s for samples, "
      "{:.1f} s for counts\n",
      spent.inputs, spent.memory, spent.checks, spent.samples, spent.counts);
  const auto done = static_cast<std::size_t>(outcome.measured + outcome.skipped + outcome.failed);
  Json context = journal.header().value("context", Json::object());
  context["complete"] = done == points.size();
  context["interrupted"] = outcome.interrupted;
  context["points_planned"] = points.size();
  context["points_done"] = done;
  context["seconds_spent"] = {{"inputs", spent.inputs},
                              {"memory", spent.memory},
                              {"checks", spent.checks},
                              {"samples", spent.samples},
                              {"counts", spent.counts}};
  context.update(runner.machine().context());
  context["kernels"] = kernel_descriptions(experiment.points);
  context["problems"] = problem_descriptions(experiment.points);
  if (!experiment.refused.empty()) context["refused_kernels"] = experiment.refused;
  write_results(experiment, options, outcome.folder, context, entries);
  if (context["complete"]) std::filesystem::remove(outcome.folder / kJournal);
  return outcome;
}

std::vector<std::filesystem::path> unfinished_runs(const std::filesystem::path& outdir, const std::string& experiment) {
  std::vector<std::filesystem::path> runs;  // a run that ended has no journal any more
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(outdir, none))
    if (entry.path().filename().string().ends_with("-" + experiment) && exists(entry.path() / kJournal, none))
      runs.push_back(entry.path());
  std::sort(runs.rbegin(), runs.rend());
  return runs;
}

std::filesystem::path resumable_run(const Experiment& experiment, const StudyOptions& options) {
  const Json wanted = identity(shuffled_points(experiment, options), options);
  for (const std::filesystem::path& run : unfinished_runs(options.outdir, experiment.name))
    if (journal_header(run / kJournal).value("identity", Json()) == wanted && !is_locked(run / kJournal)) return run;
  return {};
}

bool can_be_profiled(const Point& point) {
  return point.kernel->side() == "gpu" && point.way != Way::cold && point.skip.empty();
}

void profile_study(const Experiment& experiment, const StudyOptions& options) {
  PointRunner runner(options.device, options.seed, options.overrides);
  if (!runner.machine().gpu()) throw Error("--profile needs a GPU: " + runner.machine().gpu_unavailable());
  for (const Point* point : selected_points(experiment, options.filter)) {
    if (!can_be_profiled(*point)) continue;
    say("{}\n", point->name());
    std::fflush(stdout);
    runner.machine().gpu()->mark_point();
    try {
      runner.run_once(*point);
    } catch (const DeviceLost&) {
      throw;
    } catch (const Error& error) {
      say("FAILED {}: {}\n", point->name(), error.what());
    }
  }
}

namespace {

/// An extended regular expression, as Google Benchmark's. The C library's matcher takes time in proportion to the text
/// where there are no back-references. Its parser's stack suffices for kMostLetters.
class Filter {
 public:
  explicit Filter(const std::string& pattern) {
    if (pattern.size() > kMostLetters) throw Error(fmt::format("has more than {} letters", kMostLetters));
    for (std::size_t i = 0; i + 1 < pattern.size(); ++i)
      if (pattern[i] == '\\' && std::isalnum(static_cast<unsigned char>(pattern[++i])))
        throw Error(
            fmt::format("has '\\{}', which is no part of extended regular expressions; a digit is [0-9]", pattern[i]));
    if (written_out(pattern) > kMostWrittenOut) throw Error("repeats too much: parts of parts too often");
    if (const int wrong = regcomp(&expression_, pattern.c_str(), REG_EXTENDED | REG_NOSUB); wrong != 0) {
      char why[256];
      regerror(wrong, &expression_, why, sizeof why);
      throw Error(std::string("is no regular expression: ") + why);
    }
  }
  ~Filter() { regfree(&expression_); }
  Filter(const Filter&) = delete;
  Filter& operator=(const Filter&) = delete;

  bool finds(const std::string& text) const { return regexec(&expression_, text.c_str(), 0, nullptr, 0) == 0; }

 private:
  static constexpr std::size_t kMostLetters = 1000;
  static constexpr double kMostWrittenOut = 10'000;

  /// Letters of the pattern when each repeated part is written as often as the C library copies it: "(ab){3}" has 6. A
  /// few parts within parts, each repeated, make more than any memory holds.
  static double written_out(const std::string& pattern) {
    std::vector<double> outer;  // lengths before the groups that are open
    double length = 0, last = 0;
    for (std::size_t i = 0; i < pattern.size(); ++i) {
      double times = 1;
      switch (pattern[i]) {
        case '(':
          outer.push_back(length);
          length = last = 0;
          continue;
        case ')':
          last = length;
          if (!outer.empty()) length += outer.back(), outer.pop_back();
          continue;
        case '+':
          times = 2;
          break;  // as aa*
        case '{':
          for (; i < pattern.size() && pattern[i] != '}'; ++i)
            if (!std::isdigit(static_cast<unsigned char>(pattern[i])))
              times = std::max(times, std::strtod(pattern.c_str() + i + 1, nullptr));
          break;
        case '[':
          i = std::min(pattern.find(']', i + (pattern.substr(i, 2) == "[^" ? 3 : 2)), pattern.size());
          last = 1;
          ++length;
          continue;
        case '\\':
          ++i;
          [[fallthrough]];
        default:
          last = 1;
          ++length;
          continue;
      }
      length += last * (times - 1);
      last *= times;
    }
    return length;
  }

  regex_t expression_;
};

}  // namespace

std::vector<const Point*> selected_points(const Experiment& experiment, const std::string& filter) {
  const bool inverted = filter.starts_with("-");
  const std::string pattern = inverted ? filter.substr(1) : filter;
  std::vector<const Point*> points;
  try {
    const Filter chosen(pattern == "all" ? "" : pattern);
    for (const Point& point : experiment.points)
      if (chosen.finds(point.name()) != inverted) points.push_back(&point);
  } catch (const Error& error) {
    throw Error("--benchmark_filter=" + filter.substr(0, 60) + " " + error.what());
  }
  if (points.empty()) throw Error("--benchmark_filter=" + filter + " leaves no point of " + experiment.name);
  return points;
}

}  // namespace rung
