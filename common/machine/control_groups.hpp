/// What the control groups around this process leave of the machine: a container's share of CPU time and memory.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace rung {

/// The limit of one group's memory and what of it is taken, in bytes: without the file cache that is reclaimed before
/// an allocation fails.
struct MemoryLimit {
  std::size_t limit = 0, used = 0;
};

/// Control groups of version 2 and of version 1. Where a file is missing or cannot be read there is no limit.
class ControlGroups {
 public:
  /// `membership`: the file with the process's groups; `root`: where they are mounted.
  explicit ControlGroups(std::filesystem::path membership = "/proc/self/cgroup",
                         std::filesystem::path root = "/sys/fs/cgroup");

  /// Processors' worth of CPU time that the groups leave; infinite without a limit.
  double cpu_quota() const;
  /// The groups whose limit is below `total_bytes`, the machine's memory; the others limit nothing.
  std::vector<MemoryLimit> memory_limits(std::size_t total_bytes) const;

 private:
  std::vector<std::string> folders(const std::string& controller) const;

  std::filesystem::path membership_, root_;
};

/// Threads that make use of `processors` within `quota`: at least one, and no more than whole processors of it.
int threads_within(double quota, int processors);

}  // namespace rung
