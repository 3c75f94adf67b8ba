#include "common/harness/environment.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <string_view>

#include "common/harness/toml.hpp"
#include "environment_toml.hpp"

namespace rung {
namespace {

/// What the program that started this one again had changed: "cleared OMP_DYNAMIC set GOMP_SPINCOUNT".
constexpr const char* kChanged = "RUNG_ENVIRONMENT";

std::vector<std::string> strings(const toml::table& row, const char* key) {
  std::vector<std::string> all;
  if (const toml::array* list = row[key].as_array())
    for (const toml::node& one : *list) all.push_back(one.value_or(std::string()));
  return all;
}

Treatment treatment_of(const std::string& word) {
  if (word == "honoured") return Treatment::honoured;
  if (word == "option") return Treatment::option;
  if (word == "cleared") return Treatment::cleared;
  if (word == "unused") return Treatment::ignored;
  throw std::logic_error("environment.toml: the treatment '" + word + "'");
}

bool fits(const std::string& pattern, std::string_view name) {
  return pattern.ends_with('*') ? name.starts_with(std::string_view(pattern).substr(0, pattern.size() - 1))
                                : name == pattern;
}

std::map<std::string, std::string> environment() {
  std::map<std::string, std::string> all;
  for (char** variable = environ; *variable; ++variable) {
    const std::string text = *variable;
    if (const std::size_t equals = text.find('='); equals != std::string::npos)
      all.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return all;
}

/// Names after "cleared" and after "set".
std::map<std::string, std::vector<std::string>> changed() {
  const char* text = std::getenv(kChanged);
  std::istringstream words(text ? text : "");
  std::map<std::string, std::vector<std::string>> found;
  std::string list;
  for (std::string word; words >> word;) {
    if (word == "cleared" || word == "set")
      list = word;
    else
      found[list].push_back(word);
  }
  return found;
}

void set_variable(const std::string& name, const std::string& value) {
  if (setenv(name.c_str(), value.c_str(), 1) != 0) throw std::bad_alloc();  // else it would start again for ever
}

}  // namespace

const std::vector<VariableRule>& variable_rules() {
  static const std::vector<VariableRule> rules = [] {
    std::vector<VariableRule> all;
    const toml::table table = toml::parse(std::string_view(kEnvironmentToml));
    for (const toml::node& node : *table["variable"].as_array()) {
      const toml::table& row = *node.as_table();
      all.push_back({row["name"].value_or(std::string()), treatment_of(row["program"].value_or(std::string())),
                     row["otherwise"].value_or(std::string()), strings(row, "unless")});
    }
    return all;
  }();
  return rules;
}

const VariableRule* rule_of(const std::string& name) {
  const VariableRule* longest = nullptr;
  for (const VariableRule& rule : variable_rules())
    if (fits(rule.name, name) && (!longest || rule.name.size() > longest->name.size())) longest = &rule;
  return longest;
}

std::map<std::string, std::string> honoured_environment() {
  std::map<std::string, std::string> all = environment();
  std::erase_if(all, [](const auto& variable) {
    const VariableRule* rule = rule_of(variable.first);
    return !rule || rule->treatment != Treatment::honoured;
  });
  return all;
}

EnvironmentChange wanted_change(const std::map<std::string, std::string>& environment, bool measures) {
  EnvironmentChange change;
  for (const auto& [name, value] : environment)
    if (const VariableRule* rule = rule_of(name); rule && rule->treatment == Treatment::cleared)
      change.clear.push_back(name);
  const auto is_set = [&](const std::string& name) { return environment.contains(name); };
  for (const VariableRule& rule : variable_rules()) {
    if (!measures || rule.otherwise.empty() || std::any_of(rule.unless.begin(), rule.unless.end(), is_set)) continue;
    if (!is_set(rule.name)) change.set[rule.name] = rule.otherwise;
  }
  return change;
}

void start_with_own_environment(char** argv, bool measures, const std::map<std::string, std::string>& further,
                                const std::function<void()>& before) {
  const EnvironmentChange change = wanted_change(environment(), measures);
  if (!change.is_needed() && further.empty()) return;
  std::string changed = "cleared";
  for (const std::string& name : change.clear) {
    unsetenv(name.c_str());
    changed += " " + name;
  }
  changed += " set";
  for (const auto& variables : {change.set, further})
    for (const auto& [name, value] : variables) {
      set_variable(name, value);
      changed += " " + name;
    }
  set_variable(kChanged, changed);
  before();
  std::error_code none;  // by its path, which then names the process; else by the system's link
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", none);
  if (!self.empty()) execv(self.c_str(), argv);
  execv("/proc/self/exe", argv);
}

nlohmann::json environment_context() {
  const auto found = changed();
  const auto names = [&](const char* list) {
    const auto of_list = found.find(list);
    return nlohmann::json(of_list == found.end() ? std::vector<std::string>() : of_list->second);
  };
  return {{"environment", honoured_environment()},
          {"environment_cleared", names("cleared")},
          {"environment_set", names("set")}};
}

}  // namespace rung
