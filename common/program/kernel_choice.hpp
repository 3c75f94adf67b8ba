/// Which GPU kernels a command is about, and with which sizes and tunables: the arguments that `rung count` and
/// `rung check` share.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common/program/command_line.hpp"
#include "common/registry.hpp"

namespace rung {

struct KernelChoice {
  std::vector<std::string> patterns, settings;  ///< "gpu/matmul/*"; "tile=16"
  Params given;                                 ///< sizes and tunables
  std::vector<std::string> refused;             ///< refused kernels that match, by name; set by each()

  /// Adds KERNEL, --set and an option for every size and tunable that a GPU kernel has.
  void add_to(Command command);
  /// Calls `use` with each kernel that matches. One that cannot be emulated or refuses the case is an error if it is
  /// the only one, else it is left out, with a line on stderr, as is one that is refused. Throws Error if none is left,
  /// or for a name that is neither a size nor a tunable of any of them.
  void each(const std::function<void(const Kernel&)>& use);
};

}  // namespace rung
