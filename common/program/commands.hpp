/// The subcommands of the program `rung`, each declared once, in a file of its own in this folder.
#pragma once

#include "common/program/command_line.hpp"

namespace rung {

struct Subcommand {
  int order;                     ///< its place in the help
  void (*add)(Command program);  ///< adds its name, options and what it does
  bool is_calculator = false;    ///< needs only its arguments, as `rung model` requires
};

/// Adds a subcommand to the list; to be called before main() starts. Returns true.
bool add_command(Subcommand command);

/// Gives the program all subcommands.
void add_commands(Command program);
/// Only the calculators.
void add_calculators(Command program);

}  // namespace rung
