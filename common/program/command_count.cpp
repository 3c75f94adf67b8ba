/// `rung count`: what a GPU kernel does, counted by executing it on the emulator, next to the values that its record
/// declares.
#include "common/program/command_count.hpp"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "common/emulator/estimate.hpp"
#include "common/json_text.hpp"
#include "common/machine/device_facts.hpp"
#include "common/model/devices.hpp"
#include "common/problem/problem.hpp"
#include "common/program/commands.hpp"
#include "common/program/kernel_choice.hpp"

namespace rung {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  KernelChoice choice;
  std::string order = "forward";
  std::optional<std::string> caches, device;
  std::uint64_t seed = 1, budget = EmulatorOptions{}.budget;
  bool lines = false, json = false;
};

/// Counts a kernel and shows it; returns what is wrong with its result, if anything is.
std::string count_and_show(const Kernel& kernel, const Params& given, const EmulatorOptions& how, Json* json) try {
  Point point = point_of(kernel, given);
  point.caches = how.caches;
  const CountedRun counted = count(point, how);
  json ? json->push_back(to_json(point, counted, how)) : print_table(point, counted, how);
  return counted.check.passed() ? "" : kernel.name + " gave a wrong result: " + counted.check.reason();
} catch (const WrongResult& failure) {
  return failure.what();
}

/// The device called `name`. Throws Error if there is none, or no model of its caches.
const Device& modelled_device(const std::string& name) {
  const Device& device = find_device(name);
  CacheModel(device, 1, 1, 0);
  return device;
}

void run(Options& options) {
  say_long_launches();
  EmulatorOptions how{
      .order = order_of(options.order), .seed = options.seed, .lines = options.lines, .budget = options.budget};
  if (options.caches) how.caches = &modelled_device(*options.caches);
  std::optional<AssumedDevice> assumed;
  if (options.device) assumed.emplace(find_device(*options.device));
  Json json = Json::array();
  std::vector<std::string> wrong;
  options.choice.each([&](const Kernel& kernel) {
    const std::string what = count_and_show(kernel, options.choice.given, how, options.json ? &json : nullptr);
    if (!what.empty()) wrong.push_back(what);
  });
  if (options.json) fmt::print("{}\n", json_text(json, 2));
  if (!wrong.empty()) throw WrongResult(fmt::format("{}", fmt::join(wrong, "; ")));
  if (const auto& refused = options.choice.refused; !refused.empty())
    throw WrongResult(fmt::format("refused: {}", fmt::join(refused, ", ")));
}

void add(Command program) {
  auto options = std::make_shared<Options>();
  Command command = program.add_subcommand("count", "what a GPU kernel does, counted on the emulator (needs no GPU)");
  options->choice.add_to(command);
  command.add_option("--order", options->order, "in which threads run: forward, reverse or random");
  command.add_option("--seed", options->seed, "of the inputs and of the random order");
  command.add_option("--budget", options->budget, "stop a block after this many basic blocks of code");
  command.add_flag("--lines", options->lines, "by line of the kernel's source, too");
  command.add_option("--caches", options->caches, "model the caches of this GPU, as H200");
  command.add_option("--device", options->device,
                     "launch as on this GPU, as H200: matters where the launch follows from the number of SMs");
  command.add_flag("--json", options->json, "as JSON");
  command.callback([options] { run(*options); });
}

const bool added = add_command({.order = 30, .add = add});

}  // namespace
}  // namespace rung
