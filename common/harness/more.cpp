#include "common/harness/more.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "common/harness/results.hpp"
#include "common/read_file.hpp"
#include "common/record_checks.hpp"
#include "common/source_dir.hpp"

namespace rung {
namespace {

constexpr std::size_t kLargestResult = std::size_t{1} << 28, kLargestList = std::size_t{1} << 24;

/// What has to be equal for two runs to have samples of the same code on the same machine.
constexpr const char* kOfBuild[] = {"git_commit", "git_dirty",     "cxx_compiler",
                                    "cxx_flags",  "cuda_compiler", "cuda_flags"};
constexpr const char* kOfMachine[] = {"cpu_name", "cpu_cores", "cpu_threads", "gpu_name", "gpu_uuid"};

std::string bytes_of(const std::filesystem::path& file, std::size_t most) {
  try {
    return read_file(file, most);
  } catch (const Error& error) {
    throw Error("--more: " + file.string() + " " + error.what());
  }
}

Json result_in(const std::filesystem::path& file) {
  if (file.extension() == ".gz") throw Error("--more: " + file.string() + " is packed: unpack it first (gunzip)");
  const Json result = Json::parse(bytes_of(file, kLargestResult), nullptr, false);
  const auto has = [&](const char* key, Json::value_t type) {
    return result.is_object() && result.contains("context") && result["context"].is_object() &&
           result["context"].contains(key) && result["context"][key].type() == type;
  };
  if (!has("experiment_toml", Json::value_t::string) || !has("experiment", Json::value_t::string) ||
      !has("checksum", Json::value_t::string) || !result.contains("benchmarks") || !result["benchmarks"].is_array())
    throw Error("--more: " + file.string() + " is not a results file of `rung run`");
  return result;
}

std::string in_words(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

/// Throws Error for the first key in which the two contexts differ.
template <std::size_t n>
void require_equal(const char* const (&keys)[n], const Json& was, const Json& is, const std::string& remedy) {
  for (const char* key : keys) {
    const Json then = was.value(key, Json()), now = is.value(key, Json());
    if (then != now)
      throw Error(fmt::format("--more: {} was {} and is {}: {}", key, in_words(then), in_words(now), remedy));
  }
}

/// Without a commit, or with changes that are not committed, only the program itself shows that the code is the same.
void require_same_program(const Json& was, const Json& is) {
  require_equal(kOfBuild, was, is,
                "samples of other code are a result of their own; build that commit, or leave out --more");
  const bool is_known = is.value("git_commit", "") != "" && !is.value("git_dirty", true);
  if (!is_known && was.value("program", Json()) != is.value("program", Json()))
    throw Error(
        "--more: another program than this measured the result, and no commit shows that their code is the same: "
        "samples of other code are a result of their own");
}

/// The names of the points that the result has samples of.
std::set<std::string> timed_in(const Json& result) {
  std::set<std::string> names;
  for (const Json& entry : result["benchmarks"])
    if (entry.is_object() && entry.contains("name") && entry["name"].is_string() &&
        entry.value("mode", Json()) != "count" && entry.contains("repetition_index"))
      names.insert(entry["name"].get<std::string>());
  return names;
}

std::set<std::string> names_in(const std::filesystem::path& file) {
  std::istringstream lines(bytes_of(file, kLargestList));
  std::set<std::string> names;
  for (std::string line; std::getline(lines, line);)
    if (!line.empty()) names.insert(line);
  return names;
}

/// Leaves the named ones. Throws Error for a name that none has.
void keep_named(const std::filesystem::path& file, std::vector<Point>& points) {
  std::set<std::string> wanted = names_in(file), found;
  std::erase_if(points, [&](const Point& point) {
    const std::string name = point.name();
    return !wanted.contains(name) || !found.insert(name).second;
  });
  for (const std::string& name : wanted)
    if (!found.contains(name))
      throw Error("--points: the result has no samples of a point '" + name.substr(0, 200) + "'");
}

void keep_kernels(const std::vector<std::string>& patterns, std::vector<Point>& points) {
  std::set<const Kernel*> wanted;
  for (const std::string& pattern : patterns)
    for (const Kernel* kernel : match_accepted(pattern)) wanted.insert(kernel);
  std::erase_if(points, [&](const Point& point) { return !wanted.contains(point.kernel); });
}

/// The experiment's file where it comes with the project: a section of its own next to it allows further keys.
std::filesystem::path file_of(const std::string& name) {
  const std::vector<std::string> names = experiment_names();
  const bool is_shipped = std::find(names.begin(), names.end(), name) != names.end();
  return is_shipped ? source_dir() / "experiments" / (name + ".toml") : std::filesystem::path(name + ".toml");
}

}  // namespace

More more_of(const MoreChoice& choice, Machine& machine) {
  const Json result = result_in(choice.result);
  const Json& context = result["context"];
  require_same_program(context, base_context(""));
  require_equal(kOfMachine, context, machine.context(), "samples of another machine are a result of their own");
  const std::string name = context["experiment"];
  More more{.experiment = parse_experiment(context["experiment_toml"], file_of(name),
                                           context.value("study", Json()) == "brief" ? Scale::brief : Scale::full)};
  std::vector<Point>& points = more.experiment.points;
  const std::set<std::string> timed = timed_in(result);
  std::erase_if(points, [&](const Point& point) { return point.way == Way::count || !timed.contains(point.name()); });
  if (!choice.kernels.empty()) keep_kernels(choice.kernels, points);
  if (!choice.points.empty()) keep_named(choice.points, points);
  if (points.empty()) throw Error("--more: " + choice.result.string() + " has no samples of a point that is chosen");
  const std::filesystem::path folder = std::filesystem::absolute(choice.result).parent_path();
  const bool is_more = context.contains("more_of") && context["more_of"].is_string();
  more.of = context[is_more ? "more_of" : "checksum"];
  more.outdir = is_more && folder.parent_path().filename() == "more" ? folder.parent_path() : folder / "more";
  if (context.contains("seed") && context["seed"].is_number_unsigned()) more.seed = context["seed"];
  return more;
}

}  // namespace rung
