#include "common/program/command_line.hpp"

#include <CLI/CLI.hpp>
#include <charconv>
#include <concepts>
#include <cstdint>
#include <filesystem>
#include <optional>

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

/// The first word that no option took; empty if there is none.
std::string unknown_word(const CLI::App& app) {
  for (const std::string& word : app.remaining(true))
    if (word != "--") return word;
  return "";
}

/// One sentence on a command line that `app` refused with `error`.
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
  if (const std::size_t colon = what.find(": takes a number, not "); colon != std::string::npos)
    return what.substr(0, colon) + what.substr(colon + 1);
  return "`" + name + "`: " + what;
}

}  // namespace

CommandOption& CommandOption::required() {
  option_->required();
  return *this;
}

CommandOption& CommandOption::within(int least, int most) {
  option_->check(CLI::Range(least, most));
  return *this;
}

CommandOption& CommandOption::within(double least, double most) {
  option_->check(CLI::Range(least, most));
  return *this;
}

CommandOption& CommandOption::one_of(const std::vector<std::string>& words) {
  option_->check(CLI::IsMember(words));
  return *this;
}

CommandOption& CommandOption::excludes(const CommandOption& other) {
  option_->excludes(other.option_);
  return *this;
}

CommandOption& CommandOption::envname(const std::string& variable) {
  option_->envname(variable);
  return *this;
}

CommandOption& CommandOption::group(const std::string& title) {
  option_->group(title);
  return *this;
}

Command Command::add_subcommand(const std::string& name, const std::string& help) {
  return Command(app_->add_subcommand(name, help), may_write_);
}

namespace {

/// What is wrong with the word as a number of type T; empty if nothing is. For a number that is too large, CLI11 would
/// take T's largest.
template <typename T>
std::string not_a_number(const std::string& word) {
  T value{};
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error == std::errc::result_out_of_range) return "'" + word + "' is too large a number";
  return error != std::errc() || end != word.data() + word.size() ? "takes a number, not '" + word + "'" : "";
}

}  // namespace

template <typename T>
CommandOption Command::add_option(const std::string& names, T& value, const std::string& help) {
  CLI::Option* const option = app_->add_option(names, value, help);
  if constexpr (std::same_as<T, std::int64_t> || std::same_as<T, std::uint64_t>) option->check(not_a_number<T>);
  return CommandOption(option);
}

CommandOption Command::add_option_function(const std::string& names,
                                           const std::function<void(const std::string&)>& use) {
  return CommandOption(app_->add_option_function<std::string>(names, use));
}

CommandOption Command::add_flag(const std::string& names, bool& value, const std::string& help) {
  return CommandOption(app_->add_flag(names, value, help));
}

void Command::add_version(const std::string& flag, const std::string& text, const std::string& help) {
  app_->set_version_flag(flag, text, help);
}

void Command::footer(const std::string& text) { app_->footer(text); }

void Command::callback(const std::function<void()>& run) { app_->callback(run); }

void Command::take_any_words() {
  app_->prefix_command();
  app_->set_help_flag();
}

std::vector<std::string> Command::remaining() const { return app_->remaining(); }

CommandLine::CommandLine(const std::string& name, const std::string& help, bool may_write)
    : app_(new CLI::App(help)), may_write_(may_write) {
  app_->name(name);
  app_->require_subcommand(1);
}

CommandLine::~CommandLine() { delete app_; }

void CommandLine::parse(int argc, char** argv) {
  try {
    app_->parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) throw Error(usage_error(*app_, error));
    app_->exit(error);  // prints what was requested
  }
}

void CommandLine::parse(const std::string& line) {
  try {
    app_->parse(line);
  } catch (const CLI::ParseError& error) {
    throw Error(usage_error(*app_, error));
  }
}

template CommandOption Command::add_option(const std::string&, int&, const std::string&);
template CommandOption Command::add_option(const std::string&, std::int64_t&, const std::string&);
template CommandOption Command::add_option(const std::string&, std::uint64_t&, const std::string&);
template CommandOption Command::add_option(const std::string&, double&, const std::string&);
template CommandOption Command::add_option(const std::string&, std::string&, const std::string&);
template CommandOption Command::add_option(const std::string&, std::filesystem::path&, const std::string&);
template CommandOption Command::add_option(const std::string&, std::optional<std::string>&, const std::string&);
template CommandOption Command::add_option(const std::string&, std::vector<int>&, const std::string&);
template CommandOption Command::add_option(const std::string&, std::vector<std::string>&, const std::string&);

}  // namespace rung
