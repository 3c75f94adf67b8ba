/// What environment variables of libraries do to the program: the table common/environment.toml.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace rung {

enum class Treatment { honoured, option, cleared, ignored };

/// One row of the table.
struct VariableRule {
  std::string name;  ///< a star at the end stands for any ending
  Treatment treatment = Treatment::ignored;
  std::string otherwise;  ///< what it is set to where neither it nor one of `unless` is; or empty
  std::vector<std::string> unless;
};

/// The rows for the program, in their order.
const std::vector<VariableRule>& variable_rules();

/// The row with the longest name that a variable's fits; null for one that is no library's.
const VariableRule* rule_of(const std::string& name);

/// Variables that are set and honoured, with their values: what decides how libraries and kernels compute.
std::map<std::string, std::string> honoured_environment();

/// What has to change before the libraries start, which read some variables before main().
struct EnvironmentChange {
  std::vector<std::string> clear;
  std::map<std::string, std::string> set;
  bool is_needed() const { return !clear.empty() || !set.empty(); }
};

/// Of `environment`, by name. Only where `measures` is true are variables set.
EnvironmentChange wanted_change(const std::map<std::string, std::string>& environment, bool measures);

/// Does wanted_change(), adds `further` variables, and starts the program again if anything had to change, after
/// `before`. Returns where nothing had to, or the program could not be started. Throws std::bad_alloc.
void start_with_own_environment(char** argv, bool measures, const std::map<std::string, std::string>& further,
                                const std::function<void()>& before);

/// Keys of a result's context: environment, environment_cleared (names), environment_set (names that rung set).
nlohmann::json environment_context();

}  // namespace rung
