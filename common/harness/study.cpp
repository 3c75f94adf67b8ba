#include "common/harness/study.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <omp.h>
#include <regex.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <set>

#include "common/descriptor.hpp"
#include "common/harness/begun.hpp"
#include "common/harness/environment.hpp"
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
#include "common/machine/loaded_libraries.hpp"
#include "common/machine/process_settings.hpp"

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

/// The points in the order in which they are measured: a group is at the place of its first point.
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

/// A folder for a new run, made.
std::filesystem::path new_folder(const Experiment& experiment, const StudyOptions& options) {
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

/// What of the GPU decides its rates; empty without one.
Json gpu_facts(const Json& machine) {
  Json facts = Json::object();
  for (const char* key : {"gpu_name", "gpu_driver", "gpu_cuda_runtime", "gpu_cublas_version", "gpu_power_limit_w"})
    if (machine.contains(key)) facts[key] = machine[key];
  return facts;
}

/// What must be equal for two runs to be parts of one: the program and its libraries, the experiment, the points and
/// how each is sampled, the seed, and where they run. `machine`: the context keys of the machine.
Json identity(const Experiment& experiment, const std::vector<const Point*>& points, const StudyOptions& options,
              const Json& machine) {
  std::set<std::string> each;  // their order is the seed's
  for (const Point* point : points) each.insert(design(*point));
  std::string designs;
  for (const std::string& one : each) designs += one + "\n";
  return {{"program", program_checksum()},
          {"libraries", loaded_libraries()},
          {"points", checksum(designs)},
          {"experiment", checksum(experiment.text)},
          {"seed", options.seed},
          {"benchmark_repetitions", options.overrides.repetitions},
          {"benchmark_min_time", options.overrides.min_seconds},
          {"benchmark_min_time_runs", options.overrides.runs},
          {"device", options.device},
          {"gpu", gpu_facts(machine)},
          {"processor", cpu_info().name},
          {"processors", usable_processors()},
          {"environment", honoured_environment()}};
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
  return opening.contains(key) || machine.contains(key) || key.starts_with("gpu_") || key == "more_of" ||
         std::find(std::begin(kClosing), std::end(kClosing), key) != std::end(kClosing);
}

/// Throws Error for a key of the user's own that is reserved.
Json opening_context(const Experiment& experiment, const StudyOptions& options, const Json& machine) {
  Json context = base_context(options.command_line);
  context.update(environment_context());
  context["experiment"] = experiment.name;
  context["title"] = experiment.title;
  context["question"] = experiment.question;
  context["study"] = scale_name(experiment.scale);
  context["experiment_toml"] = experiment.text;
  context["seed"] = options.seed;
  if (!options.more_of.empty()) context["more_of"] = options.more_of;
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
  write_own_file(folder / (experiment.name + ".json"), text);
  if (!options.copy_to.empty()) write_file(options.copy_to, text);
  for (const std::string side : {"cpu", "gpu"})
    if (const Json roofs = ceilings(side, context, entries); !roofs.is_null())
      write_own_file(folder / ("ceilings-" + side + ".json"), json_text(roofs, 1) + "\n");
}

/// Calls `use` with each point's name and entries: a record of the journal holds the points of one group.
template <typename Use>
void each_recorded(const std::vector<Json>& records, const Use& use) {
  for (const Json& record : records)
    for (const Json& point : record["points"]) use(point["point"].get<std::string>(), point["entries"]);
}

/// Leaves of the journal what this study wrote: each of its points once, a roof also once for each time that it was
/// measured again.
void drop_foreign(Journal& journal, const std::vector<const Point*>& points) {
  std::set<std::string> names;
  for (const Point* point : points) names.insert(point->name());
  std::set<std::pair<std::string, int>> seen;
  journal.keep_if([&](const Json& record) {
    if (!holds_points(record)) return false;
    std::set<std::pair<std::string, int>> here;
    for (const Json& point : record["points"]) {
      const std::string name = point["point"];
      const std::pair one{name, point["entries"].front().value("remeasured", 0)};
      if (!names.contains(name) || seen.contains(one) || !here.insert(one).second) return false;
    }
    seen.merge(here);
    return true;
  });
}

Json journal_record(const std::vector<PointEntries>& results) {
  Json points = Json::array();
  for (const auto& [point, entries] : results) points.push_back({{"point", point->name()}, {"entries", entries}});
  return {{"points", points}};
}

void count_point(const Json& first_entry, StudyOutcome& outcome) {
  ++(first_entry.value("skipped", false)          ? outcome.skipped
     : first_entry.value("error_occurred", false) ? outcome.failed
                                                  : outcome.measured);
}

void tally(const std::vector<Json>& records, StudyOutcome& outcome, std::vector<Json>& entries) {
  std::set<std::string> seen;  // a roof may be measured again
  each_recorded(records, [&](const std::string& name, const Json& of_point) {
    for (const Json& entry : of_point) entries.push_back(entry);
    if (seen.insert(name).second) count_point(of_point.front(), outcome);
  });
}

/// The outcome of a study that the process before this one had finished when it was lost; none if it had not.
std::optional<StudyOutcome> finished_before(const Experiment& experiment, const Supervision& supervision) {
  if (supervision.is_first || !supervision.watch->folder[0]) return {};
  StudyOutcome outcome{.folder = supervision.watch->folder};
  std::error_code none;
  if (exists(outcome.folder / kJournal, none)) return {};
  std::ifstream file(outcome.folder / (experiment.name + ".json"));
  const Json results = Json::parse(file, nullptr, false);
  if (!results.is_object()) return {};
  std::set<std::string> seen;
  for (const Json& entry : results.at("benchmarks"))
    if (seen.insert(entry.at("name")).second) count_point(entry, outcome);
  outcome.interrupted = interrupted();
  return outcome;
}

/// More threads than processors are allowed, and reported: they share the processors, which the rates show.
void say_oversubscribed(const std::vector<const Point*>& points) {
  if (cpu_threads() < threads_asked_for())
    say("{} threads were requested, OpenMP gives {} ({})\n", threads_asked_for(), cpu_threads(), team_limit());
  const auto count = std::count_if(points.begin(), points.end(), [](const Point* p) { return p->is_oversubscribed(); });
  if (count > 0)
    say("{} points use more threads than the {} processors that this process may use\n", count, usable_processors());
}

/// Says what is measured to the process that looks after this one, if there is one, and to a later run.
class Watched {
 public:
  Watched(const Group& group, const StudyOptions& options)
      : watch_(options.supervision.watch), begun_(options.supervision.begun) {
    if (!watch_) return;
    constexpr double kSlower = 10;  // than planned: a busy machine, or memory that is swapped
    std::vector<std::string> names;
    double seconds = options.point_seconds;
    for (const Point* point : group) {
      names.push_back(point->name());
      seconds += kSlower * point->effort.seconds;
    }
    if (begun_ && !interrupted()) begun_->begin(names, options.supervision);
    watch_->begin(names, seconds);
  }
  ~Watched() {
    if (begun_) begun_->end();
    if (watch_) watch_->end();
  }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

 private:
  Watch* watch_;
  std::shared_ptr<const Begun> begun_;
};

/// What of the process a kernel can change for those after it: its settings, the folder that relative names are in, and
/// which files are open.
class Surroundings {
 public:
  explicit Surroundings(const Journal& journal) : journal_(journal) { umask(mask_); }

  /// Puts back what can be; false if files were closed, among them the journal, or another has their numbers.
  bool restore() const {
    if (getpid() != process_) _exit(0);  // a kernel returned in a copy of the process, too
    umask(mask_);
    omp_set_num_threads(threads_);
    are_settings_whole_ = settings_.restore();
    for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
      if (::fcntl(standard, F_GETFD) < 0) return false;
    return journal_.is_open() && (!folder_.is_open() || ::fchdir(folder_) == 0);
  }
  /// Whether the last restore() put back the settings, too: otherwise another process is to measure what follows.
  bool are_settings_whole() const { return are_settings_whole_; }

 private:
  const Journal& journal_;
  const mode_t mask_ = umask(0);
  const Descriptor folder_{::open(".", O_PATH | O_DIRECTORY | O_CLOEXEC)};
  const pid_t process_ = getpid();
  const int threads_ = omp_get_max_threads();
  const ProcessSettings settings_ = ProcessSettings::now();
  mutable bool are_settings_whole_ = true;
};

/// The groups, but one by one those points with whose group a process was lost.
std::vector<Group> without_lost_groups(std::vector<Group> groups, const Supervision& supervision) {
  std::vector<Group> parted;
  for (Group& group : groups) {
    if (std::ranges::none_of(group, [&](const Point* p) { return supervision.alone.contains(p->name()); })) {
      parted.push_back(std::move(group));
      continue;
    }
    for (const Point* point : group) parted.push_back({point});
  }
  return parted;
}

/// How a process was lost with this point before; empty if none was.
std::string struck_before(const Point& point, const Supervision& supervision) {
  const auto struck = supervision.struck.find(point.name());
  return struck == supervision.struck.end() ? "" : struck->second;
}

/// Runs a group. Nothing if interrupted. Where a kernel has closed files of the process, nothing can be kept: another
/// process is to measure, if there is one that looks after this one.
std::vector<PointEntries> results_of(const Group& group, const std::string& not_interleaved, PointRunner& runner,
                                     const Surroundings& surroundings, const StudyOptions& options) {
  std::vector<PointEntries> results = runner.run(group, not_interleaved);
  if (!surroundings.restore() && options.supervision.watch) _exit(1);
  for (auto& [point, entries] : results)
    if (const std::string how = struck_before(*point, options.supervision); !how.empty())
      for (Json& entry : entries) entry["process_lost"] = how;
  return results;
}

/// If a kernel has lowered a limit permanently, another process continues, also if this one can no longer write.
void keep(Journal& journal, const std::vector<PointEntries>& results, const Surroundings& surroundings,
          const StudyOptions& options) {
  Watch* const watch = options.supervision.watch;
  try {
    journal.append(journal_record(results));
  } catch (const OutputError&) {
    if (watch && !surroundings.are_settings_whole()) _exit(1);
    throw;
  }
  if (!watch) return;
  ++watch->kept;
  if (surroundings.are_settings_whole()) return;
  if (options.supervision.begun) options.supervision.begun->end();
  say("a kernel has lowered a limit of the process: continuing in another one\n");
  std::fflush(nullptr);
  _exit(announce_end(kAnotherProcess));
}

void measure_points(const std::vector<const Point*>& points, PointRunner& runner, Journal& journal,
                    const Surroundings& surroundings, const StudyOptions& options, Progress& progress) {
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
        results = results_of(group, alone == supervision.alone.end() ? "" : "together, one " + alone->second, runner,
                             surroundings, options);
      } catch (const LostPoint& lost) {
        surroundings.restore();
        keep(journal, {{lost.point, {failed_entry(*lost.point, lost.what())}}}, surroundings, options);
        throw;
      }
    if (results.empty()) break;  // interrupted in the middle of it
    keep(journal, results, surroundings, options);
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

/// The median rates in a point's entries; none if it has no rate.
std::optional<MeasuredPoint> measured_point(const Point& point, const Json& entries) {
  if (!entries.front().contains("gbytes_per_s")) return {};
  std::vector<double> flops, bytes;
  for (const Json& entry : entries) {
    if (!counts(entry)) continue;
    flops.push_back(entry.value("gflops", 0.0));
    bytes.push_back(entry.value("gbytes_per_s", 0.0));
  }
  return MeasuredPoint{&point, median(flops), median(bytes), entries.front().value("sm_clock_mhz", 0.0)};
}

/// Of every point that the journal has samples of; of a roof measured again, the highest.
std::vector<MeasuredPoint> measured_points(const std::vector<const Point*>& points, const std::vector<Json>& records) {
  std::map<std::string, const Point*> by_name;
  for (const Point* point : points) by_name[point->name()] = point;
  std::map<std::string, MeasuredPoint> found;
  each_recorded(records, [&](const std::string& name, const Json& entries) {
    const auto point = by_name.find(name);
    if (point == by_name.end()) return;
    const auto once = measured_point(*point->second, entries);
    if (!once) return;
    MeasuredPoint& one = found.try_emplace(name, *once).first->second;
    one.gflops = std::max(one.gflops, once->gflops);
    one.gbytes_per_s = std::max(one.gbytes_per_s, once->gbytes_per_s);
    one.clock_mhz = std::max(one.clock_mhz, once->clock_mhz);
  });
  std::vector<MeasuredPoint> all;
  for (const auto& [name, one] : found) all.push_back(one);
  return all;
}

double cached_bytes(PointRunner& runner) {
  return std::max<double>(cpu_info().all_l3_bytes, runner.machine().context().value("gpu_l2_bytes", 0.0));
}

/// Measures roofs that verified points exceed again, twice at most.
void measure_roofs_again(const std::vector<const Point*>& points, PointRunner& runner, Journal& journal,
                         const Surroundings& surroundings, const StudyOptions& options) {
  const double cached = cached_bytes(runner);
  for (int round = 1; round <= 2; ++round) {
    auto roofs = exceeded_roofs(measured_points(points, journal.records()), cached);
    std::erase_if(roofs, [&](const Point* roof) { return options.supervision.lost.contains(roof->name()); });
    if (roofs.empty() || interrupted()) return;
    say("measuring {} again: lower than what {} bound{} (a busy machine?)\n",
        roofs.size() == 1 ? "a roof" : fmt::format("{} roofs", roofs.size()), roofs.size() == 1 ? "it" : "they",
        roofs.size() == 1 ? "s" : "");
    for (const Point* roof : roofs) {
      const Watched watched({roof}, options);
      std::vector<PointEntries> results = results_of({roof}, "", runner, surroundings, options);
      if (results.empty()) return;
      for (Json& entry : results.front().entries) entry["remeasured"] = round;
      keep(journal, results, surroundings, options);
    }
  }
}

/// Points measured once more, interleaved, or one by one if their process was lost with all of them; empty if
/// interrupted.
std::vector<MeasuredPoint> measured_interleaved(const Group& group, PointRunner& runner,
                                                const Surroundings& surroundings, const StudyOptions& options) {
  std::vector<MeasuredPoint> measured;
  for (const Group& turn : without_lost_groups({group}, options.supervision)) {
    const Watched watched(turn, options);
    const std::vector<PointEntries> results = results_of(turn, "", runner, surroundings, options);
    if (results.empty()) return {};
    for (const auto& [point, entries] : results)
      if (const auto one = measured_point(*point, entries)) measured.push_back(*one);
  }
  return measured;
}

/// The points that are faster than their roofs, also when point and roofs are measured again, interleaved, and why each
/// is refused. Interleaved, because the host of a virtual machine may give it half of the memory's bandwidth a minute
/// later: the roof alone would be measured too low.
std::map<std::string, std::string> refused_by_roofs(const std::vector<const Point*>& points, PointRunner& runner,
                                                    const Journal& journal, const Surroundings& surroundings,
                                                    const StudyOptions& options) {
  const double cached = cached_bytes(runner);
  std::map<std::string, std::string> refused;
  for (const AboveRoof& one : points_above_roofs(measured_points(points, journal.records()), cached)) {
    Group group = one.roofs;
    group.push_back(one.point);
    std::erase_if(group, [&](const Point* point) { return options.supervision.lost.contains(point->name()); });
    say("{} is {:.3g} times as fast as its roof: measuring both again, interleaved\n", one.point->name(),
        one.rate / one.roof);
    bool is_above = true;
    for (int round = 1; is_above && round <= 2; ++round) {
      const std::vector<MeasuredPoint> again = measured_interleaved(group, runner, surroundings, options);
      if (again.empty()) return {};
      is_above = again.size() < group.size() || !points_above_roofs(again, cached).empty();
    }
    if (!is_above) continue;
    refused[one.point->name()] = fmt::format(
        "refused: {:.4g} {} is {:.3g} times its roof, {:.4g}, and it stayed above when both were measured again, "
        "interleaved",
        one.rate, one.by_memory ? "GB/s" : "GFLOP/s", one.rate / one.roof, one.roof);
    say("FAILED {}: {}\n", one.point->name(), refused[one.point->name()]);
  }
  return refused;
}

/// Takes the samples of refused points out of a run's entries.
void refuse(const std::map<std::string, std::string>& refused, const std::vector<const Point*>& points,
            std::vector<Json>& entries, StudyOutcome& outcome) {
  std::erase_if(entries, [&](const Json& entry) { return refused.contains(entry.value("name", "")); });
  for (const Point* point : points)
    if (const auto found = refused.find(point->name()); found != refused.end()) {
      entries.push_back(failed_entry(*point, found->second));
      --outcome.measured;
      ++outcome.failed;
    }
}

/// The first of these runs that has the identity and that no other process measures into; empty if there is none.
std::filesystem::path resumable(const std::vector<std::filesystem::path>& runs, const Json& identity) {
  for (const std::filesystem::path& run : runs)
    if (journal_header(run / kJournal).value("identity", Json()) == identity && !is_locked(run / kJournal)) return run;
  return {};
}

/// As it is read again from a file, where foreign bytes have been replaced.
Json as_read(const Json& json) { return Json::parse(json_text(json)); }

/// The run that is gone on with, or a new one: its folder and its journal, which is locked. Another process may end or
/// take a run that was found before its journal is locked: then another look is taken.
std::pair<std::filesystem::path, std::unique_ptr<Journal>> opened_run(const Experiment& experiment,
                                                                      const StudyOptions& options, const Json& header) {
  const Supervision& supervision = options.supervision;
  if (!supervision.is_first && supervision.watch->folder[0]) {
    const std::filesystem::path folder = supervision.watch->folder;
    Json same = header;  // the machine may have lost its GPU since
    if (const Json begun = journal_header(folder / kJournal); begun.contains("identity"))
      same["identity"] = begun["identity"];
    return {folder, std::make_unique<Journal>(folder / kJournal, same)};
  }
  std::set<std::filesystem::path> gone;
  while (options.resume) {
    auto unfinished = unfinished_runs(options.outdir, experiment.name);
    std::erase_if(unfinished, [&](const std::filesystem::path& run) { return gone.contains(run); });
    if (unfinished.empty()) {
      say("nothing to resume in {}: starting a new run\n", options.outdir.string());
      break;
    }
    std::filesystem::path found = resumable(unfinished, header.at("identity"));
    if (found.empty()) found = unfinished.front();  // which the journal refuses, saying why
    if (auto journal = Journal::resume(found / kJournal, header)) return {found, std::move(journal)};
    gone.insert(found);
  }
  for (;;) {
    const std::filesystem::path folder = new_folder(experiment, options);
    if (supervision.watch) supervision.watch->set_folder(folder);
    if (auto journal = Journal::begin(folder / kJournal, header)) return {folder, std::move(journal)};
  }
}

}  // namespace

StudyOutcome run_study(const Experiment& experiment, const StudyOptions& given) {
  const InterruptsWait waiting;
  StudyOptions options = given;
  if (const auto finished = finished_before(experiment, options.supervision)) return *finished;
  const std::vector<const Point*> points = shuffled_points(experiment, options);
  if (!options.copy_to.empty()) check_writable(options.copy_to);
  PointRunner runner(options.bench ? options.bench : std::make_shared<Bench>(options.device), options.seed,
                     options.overrides);
  const Json machine = runner.machine().context(), opening = opening_context(experiment, options, machine);
  const Json header{{"identity", identity(experiment, points, options, machine)}, {"context", opening}};
  const auto [folder, opened] = opened_run(experiment, options, as_read(header));
  Journal& journal = *opened;
  StudyOutcome outcome{.folder = folder};
  if (Supervision& supervision = options.supervision; supervision.watch) {
    supervision.watch->set_folder(outcome.folder);
    supervision.begun = std::make_shared<Begun>(outcome.folder);
    supervision.begun->add_to(supervision, supervision.is_first);
  }
  drop_foreign(journal, points);
  if (journal.damaged() > 0)
    say("{} lines of {} are damaged or not of this run: their points are measured again\n", journal.damaged(),
        (outcome.folder / kJournal).string());
  if (!journal.not_locked().empty())
    say("{} cannot be locked ({}): see that no other run measures into it\n", outcome.folder.string(),
        journal.not_locked());
  say_oversubscribed(points);
  Progress own;
  Progress& progress = options.progress ? *options.progress : own;
  if (!options.progress) own.plan(points);
  progress.begin_experiment(experiment.name, done_points(points, journal.records()), points.size());
  const Surroundings surroundings(journal);
  measure_points(points, runner, journal, surroundings, options, progress);
  progress.end_experiment();
  if (!interrupted()) measure_roofs_again(points, runner, journal, surroundings, options);
  std::map<std::string, std::string> refused;
  if (!interrupted()) refused = refused_by_roofs(points, runner, journal, surroundings, options);
  outcome.interrupted = interrupted();
  std::vector<Json> entries;
  tally(journal.records(), outcome, entries);
  refuse(refused, points, entries, outcome);
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
  if (context["complete"] && options.supervision.begun) options.supervision.begun->remove();
  if (context["complete"] && ::unlink((outcome.folder / kJournal).c_str()) != 0 && errno != ENOENT)
    say("{} cannot be removed ({}); it is needed no more\n", (outcome.folder / kJournal).string(),
        std::strerror(errno));
  return outcome;
}

namespace {

/// Whether the journal in this folder is of a run of the experiment: by its header. Where that is damaged, by the
/// folder's name, whose length counts, too: "x" and "of-x" end alike.
bool is_run_of(const std::string& experiment, const std::filesystem::path& folder) {
  constexpr std::size_t kStamp = 16;
  if (const Json header = journal_header(folder / kJournal); header.contains("context"))
    return header["context"].value("experiment", Json()) == as_read(experiment);
  const std::string name = folder.filename().string();
  return name.size() == kStamp + 1 + experiment.size() && name.ends_with("-" + experiment);
}

}  // namespace

std::vector<std::filesystem::path> unfinished_runs(const std::filesystem::path& outdir, const std::string& experiment) {
  std::vector<std::filesystem::path> runs;  // a run that ended has no journal any more
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(outdir, none))
    if (entry.path().filename().string().ends_with("-" + experiment) &&
        std::filesystem::is_regular_file(entry.path() / kJournal, none) && is_run_of(experiment, entry.path()))
      runs.push_back(entry.path());
  std::sort(runs.rbegin(), runs.rend());
  return runs;
}

std::filesystem::path resumable_run(const Experiment& experiment, const StudyOptions& options) {
  const std::shared_ptr<Bench> bench = options.bench ? options.bench : std::make_shared<Bench>(options.device);
  const Json wanted = identity(experiment, shuffled_points(experiment, options), options, bench->machine.context());
  return resumable(unfinished_runs(options.outdir, experiment.name), as_read(wanted));
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
