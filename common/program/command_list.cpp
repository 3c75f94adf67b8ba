/// `rung list`: every kernel with its place on the ladder, what it adds and where it comes from; or what the sources
/// teach, with the experiments and kernels that show it.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "common/harness/rows.hpp"
#include "common/harness/sources.hpp"
#include "common/json_text.hpp"
#include "common/problem/problem.hpp"
#include "common/program/commands.hpp"
#include "common/record_checks.hpp"
#include "common/registry.hpp"

namespace rung {
namespace {

std::string tunables_text(const Kernel& kernel) {
  std::string text;
  for (const Tunable& tunable : kernel.tunables) {
    text += (text.empty() ? "" : "; ") + tunable.name + " = ";
    for (const Value& value : tunable.values) text += (&value == tunable.values.data() ? "" : ", ") + value.text();
  }
  return text;
}

/// "Hwu, Kirk, El Hajj, Programming Massively Parallel Processors, 2022, section 5.4; …"
std::string source_text(const std::vector<Citation>& source) {
  std::string text;
  for (const Citation& citation : source) text += (text.empty() ? "" : "; ") + cited(citation);
  return text;
}

/// What the values of its sizes and tunables count, where that is declared: {"stride": "elements from lane to lane"}.
nlohmann::ordered_json what_of(const Kernel& kernel) {
  nlohmann::ordered_json what = nlohmann::ordered_json::object();
  for (const auto& [name, text] : problem_of(kernel).size_what) what[name] = text;
  for (const Tunable& tunable : kernel.tunables)
    if (!tunable.what.empty()) what[tunable.name] = tunable.what;
  return what;
}

void print_json(const std::vector<const Kernel*>& chosen, const std::vector<const RefusedKernel*>& refused) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const Kernel* kernel : chosen)
    all.push_back({{"name", kernel->name},
                   {"order", kernel->order},
                   {"title", kernel->title},
                   {"idea", kernel->idea},
                   {"source", source_text(kernel->source)},
                   {"type", type_name(kernel->type)},
                   {"is_library", kernel->is_library},
                   {"tunables", tunables_text(*kernel)},
                   {"what", what_of(*kernel)},
                   {"not_emulated", kernel->gpu.not_emulated}});
  for (const RefusedKernel* kernel : refused) all.push_back({{"name", kernel->name}, {"refused", kernel->reason}});
  fmt::print("{}\n", json_text(all, 1));
}

void print_text(const std::vector<const Kernel*>& chosen, const std::vector<const RefusedKernel*>& refused) {
  for (const Kernel* kernel : chosen) {
    fmt::print("{:<28} {}\n", kernel->name, kernel->idea);
    fmt::print("{:<28} source: {}\n", "", source_text(kernel->source));
    if (!kernel->tunables.empty()) fmt::print("{:<28} tunables: {}\n", "", tunables_text(*kernel));
    if (!kernel->gpu.not_emulated.empty()) fmt::print("{:<28} not emulated: {}\n", "", kernel->gpu.not_emulated);
  }
  for (const RefusedKernel* kernel : refused) fmt::print("{:<28} REFUSED: {}\n", kernel->name, kernel->reason);
  fmt::print("{} kernels{}\n", chosen.size(), refused.empty() ? "" : fmt::format(", {} refused", refused.size()));
}

std::vector<std::string> names_of(const std::vector<const Kernel*>& kernels) {
  std::vector<std::string> names;
  for (const Kernel* kernel : kernels) names.push_back(kernel->name);
  return names;
}

void print_rows_json(const std::vector<Row>& all) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Row& row : all)
    list.push_back({{"id", row.id},
                    {"what", row.what},
                    {"source", source_text(row.source)},
                    {"experiments", row.experiments},
                    {"command", row.command},
                    {"kernels", names_of(row.kernels)}});
  fmt::print("{}\n", json_text(list, 1));
}

void print_rows(const std::vector<Row>& all) {
  for (const Row& row : all) {
    fmt::print("{:<5} {}\n", row.id, row.what);
    if (!row.source.empty()) fmt::print("{:<5} source: {}\n", "", source_text(row.source));
    if (!row.experiments.empty()) fmt::print("{:<5} experiments: {}\n", "", fmt::join(row.experiments, ", "));
    if (!row.command.empty()) fmt::print("{:<5} command: {}\n", "", row.command);
    if (!row.kernels.empty()) fmt::print("{:<5} kernels: {}\n", "", fmt::join(names_of(row.kernels), ", "));
    if (row.is_missing()) fmt::print("{:<5} missing\n", "");
  }
  const auto missing = std::count_if(all.begin(), all.end(), [](const Row& row) { return row.is_missing(); });
  fmt::print("{} rows, {} missing\n", all.size(), missing);
}

void add(Command program) {
  struct Options {
    std::vector<std::string> patterns{"*"};
    bool json = false, rows = false;
  };
  auto options = std::make_shared<Options>();
  Command command = program.add_subcommand("list", "every kernel: what it adds, where it comes from, its tunables");
  command.add_option("KERNEL", options->patterns, "names or globs, as gpu/matmul/*");
  command.add_flag("--rows", options->rows, "what the sources teach, with the experiments and kernels that show it");
  command.add_flag("--json", options->json, "as JSON");
  command.callback([options] {
    if (options->rows) return options->json ? print_rows_json(rows()) : print_rows(rows());
    std::vector<const Kernel*> chosen;
    std::vector<const RefusedKernel*> refused;
    for (const std::string& pattern : options->patterns) {
      for (const Kernel* kernel : match_accepted(pattern)) chosen.push_back(kernel);
      for (const RefusedKernel* kernel : match_refused(pattern)) refused.push_back(kernel);
    }
    options->json ? print_json(chosen, refused) : print_text(chosen, refused);
    if (!refused.empty()) throw WrongResult(fmt::format("{} kernels are refused", refused.size()));
  });
}

const bool added = add_command({.order = 10, .add = add});

}  // namespace
}  // namespace rung
