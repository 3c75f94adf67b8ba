/// Times that a test may hold a claim to.
#pragma once

#include <cstdlib>
#include <string_view>

namespace rung {

/// Whether nothing else uses this machine, which only its user can know: RUNG_QUIET_MACHINE=1. There, a claim about
/// time is tested to the percent. Elsewhere (a shared server, a laptop at work) neighbours take more than that, and the
/// same test keeps to a bound that they cannot reach and a mistake would.
inline bool is_quiet_machine() {
  const char* said = std::getenv("RUNG_QUIET_MACHINE");
  return said && std::string_view(said) == "1";
}

}  // namespace rung
