/// `rung count`: what a GPU kernel does, counted by executing it on the emulator, beside what its record declares.
#include "common/harness/command_count.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/harness/commands.hpp"
#include "common/model/devices.hpp"
#include "common/problem/problem.hpp"

namespace rung {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::vector<std::string> patterns, settings;
  Params given;
  std::string order = "forward";
  std::optional<std::string> caches;
  std::uint64_t seed = 1, budget = EmulatorOptions{}.budget;
  bool lines = false, json = false;
};

/// The sizes and tunables that GPU kernels have: each is an option of the command.
std::set<std::string> setting_names(const std::vector<const Kernel*>& chosen) {
  std::set<std::string> names;
  for (const Kernel* kernel : chosen) {
    for (const std::string& size : find_problem(kernel->family()).size_names) names.insert(size);
    for (const Tunable& tunable : kernel->tunables) names.insert(tunable.name);
  }
  return names;
}

std::vector<const Kernel*> gpu_kernels() {
  std::vector<const Kernel*> all;
  for (const Kernel& kernel : kernels())
    if (kernel.side() == "gpu") all.push_back(&kernel);
  return all;
}

/// name=value of --set.
void add_setting(Params& given, const std::string& setting) {
  const std::size_t equals = setting.find('=');
  std::int64_t value = 0;
  const char* const end = setting.data() + setting.size();
  const char* const begin = equals == std::string::npos ? end : setting.data() + equals + 1;
  const auto [rest, error] = std::from_chars(begin, end, value);
  if (error != std::errc() || rest != end) throw Error("--set " + setting + ": write it as NAME=WHOLE_NUMBER");
  given.set(setting.substr(0, equals), value);
}

/// Refuses a name that is neither a size nor a tunable of any of the kernels.
void check_names(const Params& given, const std::vector<const Kernel*>& chosen) {
  const std::set<std::string> names = setting_names(chosen);
  const std::vector<std::string> known(names.begin(), names.end());
  for (const auto& [name, value] : given)
    if (!names.contains(name))
      throw Error("'" + name + "' is neither a size nor a tunable of " +
                  (chosen.size() == 1 ? chosen[0]->name : "these kernels") + did_you_mean(name, known));
}

CountedKernel count_kernel(const Kernel& kernel, const Params& given, const EmulatorOptions& options) {
  const Problem& problem = find_problem(kernel.family());
  CountedKernel out{.kernel = &kernel,
                    .params = emulated_params(kernel, given),
                    .tunables = with_tunables(kernel, given),
                    .counts = count(kernel, given, options)};
  Params sizes;
  for (const auto& [name, value] : out.params)
    if (!out.tunables.has(name)) sizes.set(name, value);
  out.brief_sizes = problem.brief ? problem.brief(sizes) : sizes;
  out.useful_flops = problem.flops(out.params);
  if (kernel.requested) out.declared = kernel.requested(out.params);
  return out;
}

/// Counts a kernel and shows it; returns what is wrong with its result, if anything is.
std::string count_and_show(const Kernel& kernel, const Params& given, const EmulatorOptions& how, Json* json) try {
  const CountedKernel counted = count_kernel(kernel, given, how);
  json ? json->push_back(to_json(counted, how)) : print_table(counted, how);
  const Check& check = counted.counts.check;
  if (check.passed()) return "";
  return kernel.name + " gave a wrong result: " +
         (check.failure.empty() ? fmt::format("{:.3g} times the bound", check.max_error_ratio) : check.failure);
} catch (const WrongResult& failure) {
  return failure.what();
}

/// The device called `name`. Throws Error if there is none, or no model of its caches.
const Device& modelled_device(const std::string& name) {
  const Device& device = find_device(name);
  CacheModel(device, 1, 1, 0);
  return device;
}

/// Counts the kernels of all patterns. One that cannot be emulated or refuses the case is an error if it is the only
/// one, else it is left out, with a line.
void run(const Options& options) {
  Params given = options.given;
  for (const std::string& setting : options.settings) add_setting(given, setting);
  EmulatorOptions how{
      .order = order_of(options.order), .seed = options.seed, .lines = options.lines, .budget = options.budget};
  if (options.caches) how.caches = &modelled_device(*options.caches);
  std::vector<const Kernel*> chosen;
  for (const std::string& pattern : options.patterns)
    for (const Kernel* kernel : match_kernels(pattern)) chosen.push_back(kernel);
  check_names(given, chosen);

  Json json = Json::array();
  std::vector<std::string> wrong;
  std::size_t left_out = 0;
  for (const Kernel* kernel : chosen) try {
      const std::string what = count_and_show(*kernel, given, how, options.json ? &json : nullptr);
      if (!what.empty()) wrong.push_back(what);
    } catch (const Error& error) {
      if (chosen.size() == 1) throw;
      fmt::print(stderr, "left out: {}\n", error.what());
      ++left_out;
    }
  if (options.json) fmt::print("{}\n", json.dump(2, ' ', false, Json::error_handler_t::replace));
  if (left_out == chosen.size()) throw Error("none of these kernels can be counted; `rung list` shows them all");
  if (!wrong.empty()) throw WrongResult(fmt::format("{}", fmt::join(wrong, "; ")));
}

}  // namespace

void add_count_command(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("count", "what a GPU kernel does, counted on the emulator (needs no GPU)");
  command->add_option("KERNEL", options->patterns, "names or globs, as gpu/matmul/*")->required();
  for (const std::string& name : setting_names(gpu_kernels()))
    command
        ->add_option_function<std::int64_t>("--" + name, [=](std::int64_t value) { options->given.set(name, value); })
        ->group("Sizes and tunables, of the kernels that have them");
  command->add_option("--set", options->settings, "the same, as tile=16");
  command->add_option("--order", options->order, "in which threads run: forward, reverse or random");
  command->add_option("--seed", options->seed, "of the inputs and of the random order");
  command->add_option("--budget", options->budget, "stop a thread after so many basic blocks of code");
  command->add_flag("--lines", options->lines, "by line of the kernel's source, too");
  command->add_option("--caches", options->caches, "model the caches of this GPU, as H200");
  command->add_flag("--json", options->json, "as JSON");
  command->callback([options] { run(*options); });
}

}  // namespace rung
