/// `rung claims`: what the literature states of GPUs and CPUs, checked against the model, the counts and the recorded
/// results. The report's own code does it; this starts it with the same arguments.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "common/program/commands.hpp"
#include "common/registry.hpp"
#include "common/source_dir.hpp"

namespace rung {
namespace {

/// The report's Python: the source tree's own environment where there is one.
std::string python() {
  const std::filesystem::path own = source_dir() / ".venv" / "bin" / "python";
  std::error_code none;
  return std::filesystem::exists(own, none) ? own.string() : "python3";
}

/// Becomes `python3 -m report.claims …`; comes back only to throw, where there is no Python or no source tree.
[[noreturn]] void run(const std::vector<std::string>& arguments) {
  project_file("report/claims");
  const char* const path = std::getenv("PYTHONPATH");
  setenv("PYTHONPATH", (source_dir().string() + (path && *path ? ":" + std::string(path) : "")).c_str(), 1);
  setenv("RUNG", std::filesystem::read_symlink("/proc/self/exe").c_str(), 0);
  std::vector<std::string> words = {python(), "-m", "report.claims"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  std::fflush(stdout);
  execvp(argv[0], argv.data());
  throw Error("cannot start " + words[0] + ": `rung claims` needs Python with numpy and scipy");
}

void add(Command program) {
  Command command = program.add_subcommand("claims", "What the literature states, checked: verdicts for each machine");
  command.take_any_words();  // Python has the options and their help
  command.footer("rung claims [ID…] [--json] [--results DIR]…");
  command.callback([command] { run(command.remaining()); });
}

const bool added = add_command({.order = 100, .add = add});

}  // namespace
}  // namespace rung
