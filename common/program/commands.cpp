#include "common/program/commands.hpp"

#include <algorithm>
#include <vector>

namespace rung {
namespace {

std::vector<Subcommand>& commands() {
  static std::vector<Subcommand> all;
  return all;
}

}  // namespace

bool add_command(Subcommand command) {
  std::vector<Subcommand>& all = commands();
  all.insert(std::ranges::upper_bound(all, command.order, {}, &Subcommand::order), command);
  return true;
}

void add_commands(Command program) {
  for (const Subcommand& command : commands()) command.add(program);
}

void add_calculators(Command program) {
  for (const Subcommand& command : commands())
    if (command.is_calculator) command.add(program);
}

}  // namespace rung
