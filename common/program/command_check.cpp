/// `rung check`: looks for what CUDA leaves undefined: races, reads of uninitialised memory, accesses out of bounds,
/// barriers that some threads do not reach. Runs the kernel on the emulator in several orders of its threads.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "common/emulator/estimate.hpp"
#include "common/harness/count.hpp"
#include "common/harness/results.hpp"
#include "common/json_text.hpp"
#include "common/program/commands.hpp"
#include "common/program/kernel_choice.hpp"

namespace rung {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  KernelChoice choice;
  std::uint64_t seed = 1, budget = EmulatorOptions{}.budget;
  bool json = false;
};

constexpr std::pair<Order, const char*> kOrders[] = {
    {Order::forward, "forward"}, {Order::reverse, "reverse"}, {Order::random, "random"}};

Json to_json(const Finding& finding) {
  return {{"kind", finding.kind},   {"buffer", finding.buffer}, {"index", finding.index},
          {"first", finding.first}, {"second", finding.second}, {"occurrences", finding.occurrences}};
}

/// What is checked: the sizes given; where none is, and none follows from the machine, the problem's test sizes that
/// the kernel takes.
std::vector<Point> points_of(const Kernel& kernel, const Params& given) {
  const Problem& problem = problem_of(kernel);
  const auto is_given = [&](const std::string& size) { return given.has(size); };
  if (kernel.sizes || std::any_of(problem.size_names.begin(), problem.size_names.end(), is_given))
    return {point_of(kernel, given)};
  std::vector<Point> points;
  for (Params sizes : problem.test_sizes) {
    for (const auto& [name, value] : given) sizes.set(name, value);
    Point point = point_of(kernel, sizes);
    if (refusal(kernel, point.params()).empty()) points.push_back(std::move(point));
  }
  if (points.empty()) throw Error(kernel.name + " takes none of its problem's test sizes: give sizes");
  return points;
}

/// Checks the kernel in every order; returns how many orders showed something.
int check_point(const Point& point, const Options& options, Json* json) {
  Json entry{{"kernel", point.kernel->name}};
  entry["sizes"] = to_json(point.sizes);
  entry["tunables"] = to_json(point.tunables);
  if (!json) fmt::print("{}\n", point.name());
  int faulty = 0;
  for (const auto& [order, name] : kOrders) {
    const auto [counts, check] = count(
        point, {.order = order, .seed = options.seed, .counting = false, .hazards = true, .budget = options.budget});
    const std::string wrong = counts.is_cut_short ? "not judged: the last finding ended the run" : check.reason();
    faulty += !counts.findings.empty() || !wrong.empty();
    Json& in_order = entry["orders"][name] = {{"findings", Json::array()}, {"result", wrong.empty() ? "right" : wrong}};
    for (const Finding& finding : counts.findings) in_order["findings"].push_back(to_json(finding));
    if (json) continue;
    fmt::print("  {:<9}{}, {}\n", name,
               counts.findings.empty() ? "no hazard" : fmt::format("{} found", counts.findings.size()),
               wrong.empty() ? "the result is right" : (counts.is_cut_short ? "the result is " : "WRONG: ") + wrong);
    for (const Finding& finding : counts.findings) fmt::print("    {}\n", finding.text());
  }
  if (json) json->push_back(entry);
  return faulty;
}

/// Checks the kernel at every point; returns whether something showed.
bool check_kernel(const Kernel& kernel, const Options& options, Json* json) {
  int found = 0;
  for (const Point& point : points_of(kernel, options.choice.given)) found += check_point(point, options, json);
  return found > 0;
}

void run(Options& options) {
  say_long_launches();
  Json json = Json::array();
  std::vector<std::string> faulty, wrong;  // kernels, sentences
  options.choice.each([&](const Kernel& kernel) {
    try {
      if (check_kernel(kernel, options, options.json ? &json : nullptr)) faulty.push_back(kernel.name);
    } catch (const WrongResult& failure) {
      wrong.emplace_back(failure.what());
    }
  });
  if (options.json) fmt::print("{}\n", json_text(json, 2));
  if (!faulty.empty()) wrong.push_back(fmt::format("found something in {}", fmt::join(faulty, ", ")));
  if (!wrong.empty()) throw WrongResult(fmt::format("{}", fmt::join(wrong, "; ")));
  if (const auto& refused = options.choice.refused; !refused.empty())
    throw WrongResult(fmt::format("refused: {}", fmt::join(refused, ", ")));
}

void add(Command program) {
  auto options = std::make_shared<Options>();
  Command command = program.add_subcommand(
      "check", "races, bad accesses and barriers of a GPU kernel, on the emulator (needs no GPU)");
  options->choice.add_to(command);
  command.add_option("--seed", options->seed, "of the inputs and of the random order");
  command.add_option("--budget", options->budget, "stop a block after this many basic blocks of code");
  command.add_flag("--json", options->json, "as JSON");
  command.callback([options] { run(*options); });
}

const bool added = add_command({.order = 40, .add = add});

}  // namespace
}  // namespace rung
