/// `rung claims`, `rung compare` and `rung roofline`: what the literature states of GPUs and CPUs, checked against the
/// model, the counts and the recorded results; results compared with others; and other programs' kernels under measured
/// roofs. The report's own code does all three; this starts it with the same arguments.
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

/// Becomes `python3 -m report.NAME …`; comes back only to throw, where there is no Python or no source tree.
[[noreturn]] void become(const std::string& name, const std::vector<std::string>& arguments) {
  project_file("report/" + name);
  const char* const path = std::getenv("PYTHONPATH");
  setenv("PYTHONPATH", (source_dir().string() + (path && *path ? ":" + std::string(path) : "")).c_str(), 1);
  setenv("RUNG", std::filesystem::read_symlink("/proc/self/exe").c_str(), 0);
  std::vector<std::string> words = {python(), "-m", "report." + name};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  std::fflush(stdout);
  execvp(argv[0], argv.data());
  throw Error("cannot start " + words[0] + ": `rung " + name + "` needs Python with numpy and scipy");
}

/// A command whose options and help Python has.
void add(Command program, const std::string& name, const std::string& help, const std::string& usage) {
  Command command = program.add_subcommand(name, help);
  command.take_any_words();
  command.footer(usage);
  command.callback([command, name] { become(name, command.remaining()); });
}

void add_claims(Command program) {
  add(program, "claims", "What the literature states, checked: verdicts for each machine",
      "rung claims [ID…] [--json] [--results DIR]…");
}

void add_compare(Command program) {
  add(program, "compare", "results of two or more runs: the same, faster, slower or undecided, point by point",
      "rung compare A B [C…] [--markdown] [--json] [--csv FILE] [--figure FILE] [--only slower] [--tolerance 0.01]");
}

void add_roofline(Command program) {
  add(program, "roofline", "kernels of any program under measured roofs, by the files of profilers and benchmarks",
      "rung roofline FILE… [--roofs RESULT…] [--type fp32] [--figure FILE] [--csv FILE] [--ert FILE] [--json]");
}

const bool added = add_command({.order = 100, .add = add_claims}) && add_command({.order = 25, .add = add_compare}) &&
                   add_command({.order = 26, .add = add_roofline});

}  // namespace
}  // namespace rung
