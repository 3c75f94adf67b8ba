#include "common/program/kernel_choice.hpp"

#include <fmt/core.h>

#include <charconv>
#include <set>

#include "common/problem/problem.hpp"
#include "common/record_checks.hpp"

namespace rung {
namespace {

/// The sizes and tunables of these kernels.
std::set<std::string> setting_names(const std::vector<const Kernel*>& chosen) {
  std::set<std::string> names;
  for (const Kernel* kernel : chosen) {
    for (const std::string& size : problem_of(*kernel).size_names) names.insert(size);
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

/// A whole number, or else a word.
Value value_of(const std::string& text) {
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && rest == end ? Value(number) : Value(0, text);
}

/// name=value of --set.
void add_setting(Params& given, const std::string& setting) {
  const std::size_t equals = setting.find('=');
  if (equals == std::string::npos || equals + 1 == setting.size())
    throw Error("--set " + setting + ": write it as NAME=VALUE");
  given.set(setting.substr(0, equals), value_of(setting.substr(equals + 1)));
}

/// A message about the kernel, with its name.
std::string with_name(const Kernel& kernel, const std::string& message) {
  return message.find(kernel.name) == std::string::npos ? kernel.name + ": " + message : message;
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

}  // namespace

void KernelChoice::add_to(Command command) {
  command.add_option("KERNEL", patterns, "names or globs, as gpu/matmul/*").required();
  for (const std::string& name : setting_names(gpu_kernels()))
    command
        .add_option_function("--" + name, [this, name](const std::string& value) { given.set(name, value_of(value)); })
        .group("Sizes and tunables, of the kernels that have them");
  command.add_option("--set", settings, "the same, as tile=16");
}

void KernelChoice::each(const std::function<void(const Kernel&)>& use) {
  for (const std::string& setting : settings) add_setting(given, setting);
  std::vector<const Kernel*> chosen;
  for (const std::string& pattern : patterns) {
    for (const Kernel* kernel : match_accepted(pattern)) chosen.push_back(kernel);
    for (const RefusedKernel* kernel : match_refused(pattern)) {
      fmt::print(stderr, "REFUSED {}: {}\n", kernel->name, kernel->reason);
      refused.push_back(kernel->name);
    }
  }
  if (chosen.empty()) return;
  check_names(given, chosen);
  std::size_t left_out = 0;
  for (const Kernel* kernel : chosen) try {
      use(*kernel);
    } catch (const WrongResult&) {
      throw;
    } catch (const Error& error) {
      if (chosen.size() == 1) throw;
      fmt::print(stderr, "left out: {}\n", with_name(*kernel, error.what()));
      ++left_out;
    }
  if (left_out == chosen.size()) throw Error("none of these kernels can be emulated; `rung list` shows them all");
}

}  // namespace rung
