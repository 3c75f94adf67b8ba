#include "common/program/usage.hpp"

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "common/registry.hpp"

namespace rung {
namespace {

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  return names;
}

/// "--lines", "-k" …: all names of all options.
std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

/// The first word that nobody took; empty if all were.
std::string unknown_word(const CLI::App& app) {
  for (const std::string& word : app.remaining(true))
    if (word != "--") return word;
  return "";
}

}  // namespace

std::string usage_error(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<CLI::App*> parsed = app.get_subcommands();
  const CLI::App& command = parsed.empty() ? app : *parsed.front();
  const std::string name = parsed.empty() ? app.get_name() : app.get_name() + " " + command.get_name();
  const std::string help = "; `" + name + " --help` lists them";
  if (const std::string word = unknown_word(app); !word.empty()) {
    if (word.starts_with('-')) {
      const std::string option = word.substr(0, word.find('='));
      const std::string meant = option.size() > 2 ? did_you_mean(option, option_names(command)) : "";
      return "`" + name + "` has no option '" + option + "'" + meant + help;
    }
    if (parsed.empty()) return "no command is called '" + word + "'" + did_you_mean(word, command_names(app)) + help;
    return "`" + name + "` takes no argument '" + word + "'" + did_you_mean("--" + word, option_names(command));
  }
  if (parsed.empty()) return "give a command: " + joined(command_names(app)) + help;
  const std::string what = error.what();
  const std::string start = "Could not convert: ";  // "--n = 1k"
  if (const std::size_t equals = what.find(" = "); what.starts_with(start) && equals != std::string::npos)
    return what.substr(start.size(), equals - start.size()) + " takes a number, not '" + what.substr(equals + 3) + "'";
  return "`" + name + "`: " + what;
}

}  // namespace rung
