#include "common/harness/experiment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include "common/harness/experiment_values.hpp"
#include "common/machine/cpu_info.hpp"
#include "common/printable.hpp"
#include "common/read_file.hpp"
#include "common/record_checks.hpp"
#include "common/source_dir.hpp"

namespace rung {
namespace {

constexpr std::size_t kMostPoints = 100'000;
constexpr std::size_t kMostLetters = std::size_t{1} << 16;

using Axes = std::vector<std::pair<std::string, std::vector<Value>>>;

/// One [[sweep]]: what is combined with what.
struct Sweep {
  std::vector<const Kernel*> kernels;
  std::vector<Way> ways{Way::hot};
  Axes axes;  ///< sizes and tunables
  std::vector<Params> shapes;
  std::vector<std::int64_t> shared_bytes{0};
  std::vector<int> threads;           ///< of CPU kernels, 0 for all; empty if not given
  std::vector<std::string> data{""};  ///< names; "" for the one that the problem times by default
  bool interleave = false;
  bool is_roofs = false;
  std::optional<bool> has_counters;  ///< counted points have them by default
  Effort effort;
  const Device* caches = nullptr;
  bool on_catalogue = false;
};

Way way_from(const std::string& word) {
  const std::vector<std::string> words{"hot", "cold", "count"};
  const auto found = std::find(words.begin(), words.end(), word);
  if (found == words.end())
    throw Error("mode '" + word + "' is not one of hot, cold, count" + did_you_mean(word, words));
  return static_cast<Way>(found - words.begin());
}

bool has_tunable(const Kernel& kernel, const std::string& name) {
  return std::any_of(kernel.tunables.begin(), kernel.tunables.end(), [&](const Tunable& t) { return t.name == name; });
}

bool has_size(const Kernel& kernel, const std::string& name) {
  const auto& names = problem_of(kernel).size_names;
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Throws unless some kernel of the sweep has a size or tunable of this name.
void require_axis(const Sweep& sweep, const std::string& name, std::vector<std::string> others) {
  for (const Kernel* kernel : sweep.kernels) {
    if (has_tunable(*kernel, name) || has_size(*kernel, name)) return;
    for (const Tunable& tunable : kernel->tunables) others.push_back(tunable.name);
    for (const std::string& size : problem_of(*kernel).size_names) others.push_back(size);
  }
  throw Error("no kernel of this sweep has a size or tunable '" + name + "'" + did_you_mean(name, others));
}

std::string launch_refusal(const Point& point) {
  if (std::string reason = refusal(*point.kernel, point.params()); !reason.empty()) return reason;
  if (point.way == Way::count && point.kernel->side() != "gpu") return "only GPU kernels are counted by execution";
  if (point.way == Way::count && !point.kernel->gpu.not_emulated.empty())
    return "not emulated: " + point.kernel->gpu.not_emulated;
  return "";
}

/// Calls `use` with every combination of one value from each axis.
template <typename Use>
void each_combination(const Axes& axes, Params chosen, std::size_t depth, const Use& use) {
  if (depth == axes.size()) return use(chosen);
  for (const Value& value : axes[depth].second) {
    Params next = chosen;
    next.set(axes[depth].first, value);
    each_combination(axes, next, depth + 1, use);
  }
}

/// The axis `threads` of GPU kernels that have a tunable of that name. 0, for all cores of a CPU, is none of its
/// values.
void add_threads_of_blocks(Sweep& sweep, std::vector<Value> counts) {
  std::erase_if(counts, [](const Value& count) { return count.number == 0; });
  if (!counts.empty()) sweep.axes.emplace_back("threads", std::move(counts));
}

/// The values of the axis `threads` for this kernel: only "not given" on a GPU.
std::vector<std::optional<int>> thread_axis(const Kernel& kernel, const Sweep& sweep) {
  if (kernel.side() != "cpu" || sweep.threads.empty()) return {std::nullopt};
  return {sweep.threads.begin(), sweep.threads.end()};
}

/// Sizes that follow from the machine follow from the threads, too, so these are set while the point is made.
Point make_point(const Kernel& kernel, const Params& given, const Sweep& sweep, std::optional<int> threads,
                 const std::string& data) {
  const UseThreads scope(threads.value_or(0));
  Point point = point_of(kernel, given, data);
  if (threads.value_or(0) > 0 && kernel.side() == "cpu") point.threads = *threads;
  point.names_threads = threads.has_value();
  point.effort = sweep.effort;
  point.caches = sweep.caches;
  point.on_catalogue = sweep.on_catalogue;
  point.is_roof = sweep.is_roofs;
  return point;
}

/// Throws where a kernel's sweep is a product of more combinations than can be points.
void require_few(const Sweep& sweep, const Kernel& kernel, const Axes& axes) {
  double combinations = double(sweep.shapes.size()) * double(thread_axis(kernel, sweep).size()) *
                        double(sweep.data.size()) * double(sweep.ways.size()) * double(sweep.shared_bytes.size());
  for (const auto& [name, values] : axes) combinations *= double(values.size());
  if (combinations > double(kMostPoints))
    throw Error(fmt::format("more than {} points of {}: make the sweep smaller", kMostPoints, kernel.name));
}

/// Calls `use` with every point of the sweep.
template <typename Use>
void each_point(const Sweep& sweep, const Use& use) {
  const auto use_point = [&](Point point, Way way, std::int64_t shared) {
    point.way = way;
    point.has_counters = sweep.has_counters.value_or(way == Way::count);
    point.shared_bytes = shared;
    const UseThreads scope(point.threads);
    point.skip = launch_refusal(point);
    use(std::move(point));
  };
  for (const Kernel* kernel : sweep.kernels) {
    Axes axes;
    for (const auto& axis : sweep.axes)
      if (has_tunable(*kernel, axis.first) || has_size(*kernel, axis.first)) axes.push_back(axis);
    require_few(sweep, *kernel, axes);
    for (const Params& shape : sweep.shapes)
      each_combination(axes, shape, 0, [&](const Params& given) {
        for (const std::optional<int> threads : thread_axis(*kernel, sweep))
          for (const std::string& data : sweep.data)
            for (const Way way : sweep.ways)
              for (const std::int64_t shared : sweep.shared_bytes)
                use_point(make_point(*kernel, given, sweep, threads, data), way, shared);
      });
  }
}

/// What points have in common that are measured together: what they compute, where, how, and with how many threads.
std::string group_key(const Point& point) {
  return point.problem->family + "/" + type_name(point.problem->type) + "/" + point.data->name + "/" +
         point.sizes.text() + "/" + point.kernel->side() + "/" + way_name(point.way) + "/" +
         std::to_string(point.threads);
}

void add_points(const Sweep& sweep, std::vector<Point>& points, std::set<std::string>& names) {
  int groups = 0;
  for (const Point& point : points) groups = std::max(groups, point.group);
  std::map<std::string, int> group_of;
  each_point(sweep, [&](Point point) {
    if (!names.insert(point.name()).second) return;
    if (sweep.interleave && point.way != Way::count)
      point.group =
          group_of.try_emplace(group_key(point), groups + 1 + static_cast<int>(group_of.size())).first->second;
    points.push_back(std::move(point));
    if (points.size() > kMostPoints)
      throw Error(fmt::format("more than {} points: make the sweep smaller", kMostPoints));
  });
}

/// Only what is counted is modelled: in another mode the keys would be silently without effect.
void require_counting(const Sweep& sweep) {
  const auto counts = [](Way way) { return way == Way::count; };
  if (std::all_of(sweep.ways.begin(), sweep.ways.end(), counts)) return;
  for (const auto& [key, is_given] :
       {std::pair{"caches", sweep.caches != nullptr}, std::pair{"catalogue", sweep.on_catalogue}})
    if (is_given) throw Error(fmt::format("'{}' needs mode = \"count\" and no other: a model is not measured", key));
}

/// Inserts the keys of `node`, which must be a table if it is there, into `keys`; they replace equal ones.
void replace_keys(toml::table& keys, const std::string& name, const toml::node* node) {
  if (!node) return;
  if (!node->is_table()) wrong_type(name, "a table");
  for (const auto& [key, value] : *node->as_table()) keys.insert_or_assign(key, value);
}

/// The sweep's keys in this study. In the brief one, [sweep.brief] has precedence over the experiment's [brief], and
/// both over the sweep itself.
toml::table scaled(const toml::table& sweep, const toml::table& experiment, Scale scale) {
  toml::table keys = sweep;
  if (scale == Scale::brief) {
    replace_keys(keys, "brief", experiment.get("brief"));
    replace_keys(keys, "brief", sweep.get("brief"));
  }
  keys.erase("brief");
  return keys;
}

/// Those of the sweep's kernels that have the type called `name`.
void keep_type(const std::string& key, const std::string& name, std::vector<const Kernel*>& kernels) {
  std::erase_if(kernels, [&](const Kernel* kernel) { return name != type_name(kernel->type); });
  if (kernels.empty()) throw Error("'" + key + "': no kernel of this sweep has the type " + name);
}

/// "roofs" is the one role that there is.
bool is_roofs(const std::string& key, const toml::node& node) {
  if (node.value<std::string>() != "roofs") wrong_type(key, "\"roofs\"");
  return true;
}

void drop(const std::vector<std::string>& patterns, std::vector<const Kernel*>& kernels) {
  for (const std::string& pattern : patterns)
    for (const Kernel* unwanted : match_accepted(pattern)) std::erase(kernels, unwanted);
  if (kernels.empty()) throw Error("'except' leaves no kernel of the sweep");
}

/// The patterns of the sweep's kernels. Without any, a key that is nearly "kernels" is what is wrong.
std::vector<std::string> patterns_of(const toml::table& table) {
  if (const toml::node* kernels = table.get("kernels")) return words("kernels", *kernels);
  for (const auto& [key, node] : table)
    if (const std::string name(key.str()); nearest(name, std::vector<std::string>{"kernels"}) == "kernels")
      throw Error("unknown key '" + name + "'; did you mean 'kernels'?");
  throw Error("a sweep names no kernels: add kernels = [\"gpu/matmul/*\"]");
}

/// Without kernels where all that it names are refused.
Sweep read_sweep(const toml::table& table) {
  Sweep sweep{.shapes = {Params{}}};
  for (const std::string& pattern : patterns_of(table))
    for (const Kernel* kernel : match_accepted(pattern)) sweep.kernels.push_back(kernel);
  if (sweep.kernels.empty()) return sweep;
  using Reader = std::function<void(const std::string&, const toml::node&)>;
  const std::map<std::string, Reader> readers{
      {"kernels", [](auto&, auto&) {}},
      {"except", [&](auto& key, auto& node) { drop(words(key, node), sweep.kernels); }},
      {"full", [](auto&, auto&) {}},
      {"type", [&](auto& key, auto& node) { keep_type(key, words(key, node).front(), sweep.kernels); }},
      {"role", [&](auto& key, auto& node) { sweep.is_roofs = is_roofs(key, node); }},
      {"data", [&](auto& key, auto& node) { sweep.data = words(key, node); }},
      {"mode",
       [&](auto& key, auto& node) {
         sweep.ways.clear();
         for (const std::string& word : words(key, node)) sweep.ways.push_back(way_from(word));
       }},
      {"caches", [&](auto& key, auto& node) { sweep.caches = modelled_device(key, node); }},
      {"catalogue", [&](auto& key, auto& node) { sweep.on_catalogue = truth(key, node); }},
      {"sizes", [&](auto&, auto& node) { sweep.shapes = shapes(node); }},
      {"shared_bytes", [&](auto& key, auto& node) { sweep.shared_bytes = numbers(key, node); }},
      {"threads",
       [&](auto& key, auto& node) {
         sweep.threads = thread_counts(key, node);
         add_threads_of_blocks(sweep, values(key, node));
       }},
      {"counters", [&](auto& key, auto& node) { sweep.has_counters = truth(key, node); }},
      {"interleave", [&](auto& key, auto& node) { sweep.interleave = truth(key, node); }},
      {"warm_up", [&](auto& key, auto& node) { sweep.effort.warm_up = positive_number(key, node); }},
      {"ratio_within", [&](auto& key, auto& node) { sweep.effort.ratio_within = positive_number(key, node); }},
      {"energy", [&](auto& key, auto& node) { sweep.effort.energy = truth(key, node); }},
      {"samples", [&](auto& key, auto& node) { sweep.effort.min_samples = int(positive_number(key, node)); }},
      {"max_samples", [&](auto& key, auto& node) { sweep.effort.max_samples = int(positive_number(key, node)); }},
      {"longest_run", [&](auto& key, auto& node) { sweep.effort.longest_run = positive_number(key, node); }},
      {"seconds", [&](auto& key, auto& node) { sweep.effort.seconds = positive_number(key, node); }},
  };
  std::vector<std::string> known;
  for (const auto& [key, reader] : readers) known.push_back(key);
  for (const auto& [key, node] : table) {
    const std::string name(key.str());
    if (const auto reader = readers.find(name); reader != readers.end()) {
      reader->second(name, node);
    } else {
      require_axis(sweep, name, known);
      sweep.axes.emplace_back(name, values(name, node));
    }
  }
  for (const Params& shape : sweep.shapes)
    for (const auto& [name, value] : shape) require_axis(sweep, name, {});
  require_counting(sweep);
  if (!sweep.interleave) sweep.effort.warm_up = 0;  // it precedes the turns of interleaved points
  if (sweep.effort.ratio_within > 0 && !sweep.interleave)
    throw Error("'ratio_within' needs interleave = true: ratios need interleaved samples");
  sweep.effort.max_samples = std::max(sweep.effort.max_samples, sweep.effort.min_samples);
  return sweep;
}

/// Refuses what the report would silently ignore: an unknown kind of experiment, family or type, and, unless the
/// experiment has a section of its own, an unknown key.
void check_report(const toml::table& report, bool has_own_section) {
  std::vector<std::string> families, types;
  for (const Problem* problem : problems()) {
    families.push_back(problem->family);
    types.emplace_back(type_name(problem->type));
  }
  const std::map<std::string, std::vector<std::string>> words{
      {"kind", {"sweep", "ladder", "counts", "ceilings", "pareto"}}, {"family", families}, {"type", types}};
  const std::vector<std::string> keys{"kind", "family", "type", "size", "beside", "collects", "joins"};
  for (const auto& [key, node] : report) {
    const std::string name(key.str());
    const auto line = node.source().begin.line;
    if (!has_own_section && std::find(keys.begin(), keys.end(), name) == keys.end())
      throw Error(fmt::format("[report] has no key '{}' (line {}){}", name, line, did_you_mean(name, keys)));
    const auto known = words.find(name);
    if (known == words.end()) continue;
    const std::set<std::string> all(known->second.begin(), known->second.end());
    const std::string word = node.value_or(std::string());
    if (!all.contains(word))
      throw Error(fmt::format("[report] {} = '{}' is not one of {} (line {}){}", name, word, fmt::join(all, ", "), line,
                              did_you_mean(word, known->second)));
  }
}

/// Refuses keys that an experiment does not have, and types that its texts do not have.
void read_head(const toml::table& table, bool has_own_section, Experiment& experiment) {
  const std::vector<std::string> known{"title", "question", "source", "chapter", "report", "brief", "sweep"};
  for (const auto& [key, node] : table) {
    const std::string name(key.str());
    if (std::find(known.begin(), known.end(), name) == known.end())
      throw Error("unknown key '" + name + "' (line " + std::to_string(node.source().begin.line) + ")" +
                  did_you_mean(name, known));
    if (name == "title" || name == "question") {
      if (!node.is_string() || node.as_string()->get() != printable(node.as_string()->get()))
        wrong_type(name, "a text on one line, without control characters");
      (name == "title" ? experiment.title : experiment.question) = node.as_string()->get();
    }
    if (name == "chapter" && !node.is_integer()) wrong_type(name, "a whole number");
    if (name == "report") {
      if (!node.is_table()) wrong_type(name, "a table, [report]");
      check_report(*node.as_table(), has_own_section);
    }
    if (name == "source") citations(name, node);
  }
}

Experiment read_experiment(const toml::table& table, Scale scale, bool has_own_section) {
  Experiment experiment{.scale = scale};
  read_head(table, has_own_section, experiment);
  const toml::array* sweeps = table["sweep"].as_array();
  if (!sweeps) throw Error("there is no [[sweep]]");
  std::set<std::string> names;
  for (const toml::node& node : *sweeps) {
    if (!node.is_table()) throw Error("a sweep must be a table, [[sweep]]");
    try {
      const toml::table keys = scaled(*node.as_table(), table, scale);
      if (keys.contains("full") && truth("full", *keys.get("full")) && scale == Scale::brief) continue;
      add_points(read_sweep(keys), experiment.points, names);
      for (const std::string& pattern : patterns_of(keys))
        for (const RefusedKernel* kernel : match_refused(pattern)) experiment.refused[kernel->name] = kernel->reason;
    } catch (const Error& error) {
      throw Error("the sweep at line " + std::to_string(node.source().begin.line) + ": " + error.what());
    }
  }
  return experiment;
}

}  // namespace

const char* scale_name(Scale scale) { return scale == Scale::brief ? "brief" : "full"; }

namespace {

/// A size as its problem has it: a whole number, or one of the words that it may be.
Value size_value(const Problem& problem, const std::string& name, const Value& given) {
  const auto words = problem.size_words.find(name);
  if (words == problem.size_words.end()) {
    if (!given.word.empty()) throw Error("size " + name + " = " + given.word + ": give a whole number");
    return given;
  }
  std::vector<std::string> known;
  for (const Value& value : words->second) {
    if (value.word == given.word) return value;
    known.push_back(value.word);
  }
  throw Error("size " + name + " = " + given.text() + " is not one of " + fmt::format("{}", fmt::join(known, ", ")) +
              did_you_mean(given.word, known));
}

}  // namespace

Point point_of(const Kernel& kernel, const Params& given, const std::string& data) {
  Point point{.kernel = &kernel, .problem = &problem_of(kernel)};
  if (kernel.side() == "cpu") point.threads = cpu_threads();
  point.data = data.empty() ? &point.problem->timed_data() : &point.problem->data_set(data);
  point.tunables = with_tunables(kernel, given);
  Params sizes = kernel.sizes ? kernel.sizes() : Params{};
  for (const auto& [name, value] : given)
    if (has_size(kernel, name)) sizes.set(name, size_value(*point.problem, name, value));
  point.sizes = point.problem->complete(sizes);
  return point;
}

const char* way_name(Way way) { return way == Way::hot ? "hot" : way == Way::cold ? "cold" : "count"; }

Params Point::params() const {
  Params all = sizes;
  for (const auto& [name, value] : tunables) all.set(name, value);
  return all;
}

bool Point::is_oversubscribed() const { return threads > usable_processors(); }

std::string Point::name() const {
  std::string text = (way == Way::count ? "count/" : "") + kernel->name;
  if (!tunables.empty()) text += "/" + tunables.text();
  if (shared_bytes) text += "/shared_bytes:" + std::to_string(shared_bytes);
  text += "/" + problem->brief_sizes(sizes).text();
  if (data != &problem->timed_data()) text += "/data:" + data->name;
  if (way == Way::cold) text += "/mode:cold";
  return text + (names_threads ? "/threads:" + std::to_string(threads) : "");
}

namespace {

/// The parser makes a nested call for each part of a key ("a.b.c"), which is on one line. Throws Error if a line has
/// more dots than any experiment needs.
void refuse_long_keys(const std::string& text) {
  constexpr int kMostDots = 1000;
  int line = 1, dots = 0;
  for (const char letter : text) {
    if (letter == '\n') ++line, dots = 0;
    if (letter == '.' && ++dots > kMostDots)
      throw Error(fmt::format("line {} has more than {} dots: no experiment has such a key", line, kMostDots));
  }
}

/// Of an experiment's file.
std::string text_of(const std::filesystem::path& file) {
  try {
    return read_file(file, kMostLetters);
  } catch (const Error& error) {
    throw Error("the experiment file " + file.string() + " " + error.what());
  }
}

}  // namespace

Experiment load_experiment(const std::filesystem::path& file, Scale scale) {
  return parse_experiment(text_of(file), file, scale);
}

Experiment parse_experiment(const std::string& text, const std::filesystem::path& file, Scale scale) {
  try {
    refuse_long_keys(text);
    const bool has_own_section = std::filesystem::exists(std::filesystem::path(file).replace_extension(".py"));
    Experiment experiment = read_experiment(toml::parse(text, file.string()), scale, has_own_section);
    experiment.name = file.stem().string();
    if (experiment.name != printable(experiment.name)) throw Error("the file's name has control characters");
    experiment.text = text;
    return experiment;
  } catch (const toml::parse_error& error) {
    throw Error(file.string() + ", line " + std::to_string(error.source().begin.line) + ": " +
                std::string(error.description()));
  } catch (const Error& error) {
    throw Error(file.string() + ": " + error.what());
  }
}

namespace {

/// A number or a truth as it is, anything else in quotes.
std::string toml_word(const std::string& word) {
  const bool is_number = !word.empty() && word.find_first_not_of("0123456789-.") == std::string::npos;
  return is_number || word == "true" || word == "false" ? word : "'" + word + "'";
}

/// "16", "fast", "[1,2]" or "1,2" as TOML has it.
std::string toml_value(std::string values) {
  const bool is_list = values.starts_with("[") && values.ends_with("]");
  if (is_list) values = values.substr(1, values.size() - 2);
  std::istringstream parts(values);
  std::string text;
  int count = 0;
  for (std::string part; std::getline(parts, part, ','); ++count) {
    const std::size_t first = part.find_first_not_of(' ');
    part = first == std::string::npos ? "" : part.substr(first, part.find_last_not_of(' ') - first + 1);
    text += (count ? ", " : "") + toml_word(part);
  }
  return is_list || count != 1 ? "[" + text + "]" : text;
}

}  // namespace

Experiment adhoc_experiment(const std::vector<std::string>& kernels, const std::vector<std::string>& axes) {
  std::string text = "title = \"Chosen on the command line\"\n[[sweep]]\nkernels = [";
  for (const std::string& kernel : kernels) text += "'" + kernel + "', ";
  text += "]\n";
  for (const std::string& axis : axes) {
    const std::size_t equals = axis.find('=');
    if (equals == std::string::npos) throw Error("--axis " + axis + ": write it as name=value or name=[value,value]");
    text += axis.substr(0, equals) + " = " + toml_value(axis.substr(equals + 1)) + "\n";
  }
  if (text.size() > kMostLetters)
    throw Error(fmt::format("--axis and --kernels have more than {} letters", kMostLetters));
  refuse_long_keys(text);
  try {
    Experiment experiment = read_experiment(toml::parse(text), Scale::full, false);
    experiment.name = "adhoc";
    experiment.text = text;
    return experiment;
  } catch (const toml::parse_error& error) {
    throw Error("--axis or --kernels: " + std::string(error.description()));
  }
}

namespace {

/// A file with a sweep is an experiment; sources.toml in the same folder is none.
bool is_experiment(const std::filesystem::path& file) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("[[sweep]]")) return true;
  return false;
}

}  // namespace

std::vector<std::string> experiment_names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(project_file("experiments")))
    if (entry.path().extension() == ".toml" && is_experiment(entry.path()))
      names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

std::filesystem::path find_experiment(const std::string& name) {
  std::error_code none;
  const bool names_a_file = name.ends_with(".toml") || name.find('/') != std::string::npos;
  const bool is_file = std::filesystem::is_regular_file(name, none);
  if (names_a_file && is_file) return name;
  const std::vector<std::string> names = experiment_names();
  if (std::find(names.begin(), names.end(), name) != names.end())
    return source_dir() / "experiments" / (name + ".toml");
  if (is_file) return name;
  throw Error("no experiment is called '" + name + "'" + did_you_mean(name, names));
}

}  // namespace rung
