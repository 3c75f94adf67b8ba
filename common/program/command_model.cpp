/// `rung model`: many questions to the calculators in one process. Each line of the standard input is a command of
/// theirs, as "bound A100 --ratio 0.25"; each answer is its JSON, or {"error": …}.
#include <fmt/core.h>

#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "common/json_text.hpp"
#include "common/program/commands.hpp"
#include "common/registry.hpp"

namespace rung {
namespace {

void print_error(const std::string& text) { fmt::print("{}\n", json_text(nlohmann::json{{"error", text}})); }

/// A parser of its own for each line, so that no option outlives it; without options that write files, since the lines
/// may be others'.
void answer(const std::string& line) {
  CommandLine calculators("rung model", "", false);
  add_calculators(calculators.program());
  try {
    calculators.parse(line + " --json");
  } catch (const std::exception& error) {  // whatever it is: the next line has its answer, too
    print_error(error.what());
  }
}

void run() {
  for (std::string line; std::getline(std::cin, line);)
    if (!line.empty()) answer(line);
}

void add(Command program) {
  program
      .add_subcommand(
          "model",
          "Answer many questions to the calculators at once: lines of the standard input, each a command as "
          "\"bound A100\"; JSON for each")
      .callback(run);
}

const bool added = add_command({.order = 90, .add = add});

}  // namespace
}  // namespace rung
