/// The program's command line: subcommands, their options, and what is wrong with the words given. CLI11 does the work.
/// It consists of headers that take long to compile, so only one file includes them.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace rung {

/// An option or argument of a command.
class CommandOption {
 public:
  explicit CommandOption(CLI::Option* option) : option_(option) {}
  CommandOption& required();
  CommandOption& within(int least, int most);
  CommandOption& within(double least, double most);
  CommandOption& one_of(const std::vector<std::string>& words);
  CommandOption& excludes(const CommandOption& other);
  CommandOption& envname(const std::string& variable);  ///< which gives the value where the command line does not
  CommandOption& group(const std::string& title);       ///< under which the help has it

 private:
  CLI::Option* option_;
};

/// The program itself or one of its subcommands. Lives as long as the CommandLine.
class Command {
 public:
  Command(CLI::App* app, bool may_write) : app_(app), may_write_(may_write) {}

  /// Whether it may have options that write files: not where others supply its words, as for `rung model`.
  bool may_write() const { return may_write_; }
  Command add_subcommand(const std::string& name, const std::string& help);
  /// An option "-d,--device" or an argument "KERNEL", or both at once. `value` is a number, a string, a path, a
  /// std::optional or a vector of them, as command_line.cpp lists at its end; it keeps what it has unless one is given.
  template <typename T>
  CommandOption add_option(const std::string& names, T& value, const std::string& help);
  /// An option that calls `use` with its value.
  CommandOption add_option_function(const std::string& names, const std::function<void(const std::string&)>& use);
  CommandOption add_flag(const std::string& names, bool& value, const std::string& help);
  void add_version(const std::string& flag, const std::string& text, const std::string& help);
  void footer(const std::string& text);
  void callback(const std::function<void()>& run);

  /// Leaves all words, also --help, to the callback.
  void take_any_words();
  std::vector<std::string> remaining() const;

 private:
  CLI::App* app_;
  bool may_write_;
};

class CommandLine {
 public:
  CommandLine(const std::string& name, const std::string& help, bool may_write = true);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  Command program() { return Command(app_, may_write_); }
  /// Runs the command that the words name, or prints the help or the version. Throws Error for words that are wrong:
  /// one sentence with the word that is not known and the nearest that is, or the value that an option cannot take.
  void parse(int argc, char** argv);
  /// Runs the command of this line; help and version are wrong words, too.
  void parse(const std::string& line);

 private:
  CLI::App* app_;
  bool may_write_;
};

}  // namespace rung
