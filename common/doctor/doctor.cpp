#include "common/doctor/doctor.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <system_error>

#include "build_info.hpp"
#include "build_libraries.hpp"
#include "common/machine/cpu_info.hpp"
#include "common/source_dir.hpp"

namespace rung::doctor {
namespace {

std::vector<Check>& checks() {
  static std::vector<Check> all;
  return all;
}

std::optional<std::string> output_of(const std::string& command) {
  std::FILE* pipe = popen((command + " 2>/dev/null").c_str(), "r");
  if (!pipe) return std::nullopt;
  std::string output;
  for (char buffer[4096]; const std::size_t n = std::fread(buffer, 1, sizeof buffer, pipe);) output.append(buffer, n);
  if (pclose(pipe) != 0) return std::nullopt;
  while (output.ends_with('\n')) output.pop_back();
  return output;
}

std::optional<double> free_bytes_in(const std::filesystem::path& folder) {
  std::error_code error;
  const auto space = std::filesystem::space(folder, error);
  if (error) return std::nullopt;
  return static_cast<double>(space.available);
}

/// Of the folder, or of the nearest one above it that is there.
bool can_write_in(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::path there = std::filesystem::absolute(folder, error);
  while (!std::filesystem::exists(there, error) && there.has_relative_path()) there = there.parent_path();
  return access(there.c_str(), W_OK | X_OK) == 0;
}

}  // namespace

std::string System::line(const std::string& path) const {
  std::ifstream file(root / path);
  std::string first;
  std::getline(file, first);
  return first;
}

std::string System::text(const std::string& path) const {
  std::ifstream file(root / path);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool System::has(const std::string& path) const {
  std::error_code error;
  return std::filesystem::exists(root / path, error);
}

std::vector<std::filesystem::path> System::entries(const std::string& folder, const std::string& start) const {
  std::vector<std::filesystem::path> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(root / folder, error))
    if (entry.path().filename().string().starts_with(start)) found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

namespace {

std::string preloaded() {
  std::string all;
  for (const char* name : {"LD_PRELOAD", "LD_AUDIT"})
    if (const char* value = std::getenv(name); value && *value)
      all += (all.empty() ? "" : ", ") + std::string(name) + "=" + value;
  return all;
}

}  // namespace

System this_system() {
  const std::filesystem::path own = source_dir() / ".venv/bin/python";
  std::error_code error;
  System system{.run = output_of,
                .free_bytes = free_bytes_in,
                .can_write = can_write_in,
                .python = std::filesystem::exists(own, error) ? own.string() : "python3",
                .cuda_compiler = build::kCudaCompiler,
                .libraries = {},
                .threads_asked = threads_asked_for(),
                .threads_given = cpu_threads(),
                .team_limit = team_limit(),
                .preloaded = preloaded(),
                .no_commit = build::kNoCommit,
                .results = std::filesystem::path("results") / host_name()};
  if (system.cuda_compiler == " ") system.cuda_compiler.clear();
  for (const build::Library& it : build::kLibraries)
    system.libraries.push_back({it.name, it.version, it.state, it.cost, it.package});
  return system;
}

bool add_check(Check check) {
  checks().push_back(check);
  return true;
}

std::vector<Finding> diagnose(const System& system) {
  std::vector<Check> all = checks();
  std::sort(all.begin(), all.end(), [](const Check& a, const Check& b) { return a.order < b.order; });
  std::vector<Finding> findings;
  for (const Check& check : all)
    for (Finding& finding : check.look(system)) findings.push_back(std::move(finding));
  return findings;
}

}  // namespace rung::doctor
