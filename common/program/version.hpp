/// What this program is and what it was built with.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace rung {

/// A line each for version and commit, compilers, and libraries.
std::string version_text();

nlohmann::ordered_json version_json();

}  // namespace rung
