#include "common/machine/control_groups.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>

namespace rung {
namespace {

/// A file's first line; empty if it cannot be read.
std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// A number in a file; nothing if there is none ("max" means no limit).
std::optional<double> number_in(const std::string& path) {
  std::istringstream text(first_line(path));
  double value = 0;
  if (text >> value) return value;
  return std::nullopt;
}

/// Bytes of cached files that the group does not use, from a file of keys and numbers; 0 where `key` is not in it.
double unused_cache(const std::string& file, const std::string& key) {
  std::ifstream lines(file);
  std::string name;
  for (double bytes = 0; lines >> name >> bytes;)
    if (name == key) return std::max(bytes, 0.0);
  return 0;
}

}  // namespace

ControlGroups::ControlGroups(std::filesystem::path membership, std::filesystem::path root)
    : membership_(std::move(membership)), root_(std::move(root)) {}

/// The folders that hold this process's limits: of control groups v2, or of version 1's `controller`; its own group
/// first, then those around it. In a container only the last may exist.
std::vector<std::string> ControlGroups::folders(const std::string& controller) const {
  std::vector<std::string> found;
  std::ifstream file(membership_);
  for (std::string line; std::getline(file, line);) {  // "0::/path" or "4:memory:/path"
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string names = line.substr(first + 1, second - first - 1);
    std::string root = root_.string();
    if (!names.empty()) {
      if (("," + names + ",").find("," + controller + ",") == std::string::npos) continue;
      root += "/" + controller;
    }
    std::string path = line.substr(second + 1);
    while (!path.empty()) {
      found.push_back(root + path);
      path.erase(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
    }
    found.push_back(root);
  }
  return found;
}

double ControlGroups::cpu_quota() const {
  double least = std::numeric_limits<double>::infinity();
  for (const std::string& folder : folders("cpu")) {
    std::istringstream v2(first_line(folder + "/cpu.max"));  // "200000 100000" or "max 100000"
    double quota = 0, period = 0;
    if (!(v2 >> quota >> period)) {
      quota = number_in(folder + "/cpu.cfs_quota_us").value_or(0);  // -1: none
      period = number_in(folder + "/cpu.cfs_period_us").value_or(0);
    }
    if (quota > 0 && period > 0) least = std::min(least, quota / period);
  }
  return least;
}

std::vector<MemoryLimit> ControlGroups::memory_limits(std::size_t total_bytes) const {
  std::vector<MemoryLimit> limits;
  for (const std::string& folder : folders("memory")) {
    auto limit = number_in(folder + "/memory.max"), used = number_in(folder + "/memory.current");
    const char* cache = "inactive_file";
    if (!limit) {
      cache = "total_inactive_file";
      limit = number_in(folder + "/memory.limit_in_bytes");  // a number beyond the machine's memory: no limit
      used = number_in(folder + "/memory.usage_in_bytes");
    }
    if (!limit || !used || *limit < 0 || *used < 0 || *limit >= static_cast<double>(total_bytes)) continue;
    const double kept = *used - std::min(*used, unused_cache(folder + "/memory.stat", cache));
    limits.push_back({static_cast<std::size_t>(*limit), static_cast<std::size_t>(kept)});
  }
  return limits;
}

int threads_within(double quota, int processors) {
  return static_cast<int>(std::min<double>(std::max(processors, 1), std::max(1.0, std::floor(quota))));
}

}  // namespace rung
