/// What `rung doctor` checks. Each check is declared once, in a file of its own in this folder, and registers itself.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace rung::doctor {

/// A library that rung can be built with.
struct LibraryFound {
  std::string name, version;
  std::string state;    ///< "installed", "built from …" or "missing"
  std::string cost;     ///< what is left out without it
  std::string package;  ///< its package in Debian and Ubuntu
};

/// Where the checks look. Tests pass a folder of their own instead of "/" and answers instead of commands.
struct System {
  std::filesystem::path root = "/";
  /// What a shell command prints, without the line's end; nothing if it fails.
  std::function<std::optional<std::string>(const std::string& command)> run;
  /// Bytes that an ordinary user can still write in the folder.
  std::function<std::optional<double>(const std::filesystem::path& folder)> free_bytes;
  /// Whether this user can make files in the folder, or make the folder.
  std::function<bool(const std::filesystem::path& folder)> can_write;
  std::string python;         ///< the report's interpreter
  std::string cuda_compiler;  ///< that rung was built with, as "NVIDIA 13.0.88"; empty if without
  std::vector<LibraryFound> libraries;
  int threads_asked = 0, threads_given = 0;  ///< of OpenMP
  std::string team_limit;                    ///< "OMP_THREAD_LIMIT=2", if fewer are given
  std::string preloaded;                     ///< "LD_PRELOAD=…", if the loader puts code between this and the system
  std::string no_commit;                     ///< why it is not known what commit this is; empty if it is
  std::filesystem::path results;             ///< where a run writes by default

  /// A file's first line; empty if it cannot be read.
  std::string line(const std::string& path) const;
  /// All of it.
  std::string text(const std::string& path) const;
  bool has(const std::string& path) const;
  /// The entries of a folder whose names begin with `start`, in order.
  std::vector<std::filesystem::path> entries(const std::string& folder, const std::string& start) const;
};

/// This machine and this build.
System this_system();

enum class Verdict {
  good,
  costs,  ///< something is left out or measured less well; results stay true
  wrong,  ///< results would be lost or misleading, or something that is there cannot be used
};

struct Finding {
  std::string what;  ///< "GPU driver"
  Verdict verdict = Verdict::good;
  std::string found;        ///< "580.65.06"
  std::string cost = {};    ///< if it is not good: what it costs, and
  std::string remedy = {};  ///< how to fix it
};

struct Check {
  int order;  ///< its place in the list
  std::vector<Finding> (*look)(const System&);
};

/// Adds a check to the list; to be called before main() starts. Returns true.
bool add_check(Check check);

/// The findings of all checks, in their order.
std::vector<Finding> diagnose(const System& system);

}  // namespace rung::doctor
