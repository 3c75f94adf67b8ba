/// Cores and caches that this process may use. Read by hwloc; without it, or where it dies, from Linux's files.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <vector>

namespace rung {

struct Topology {
  int cores = 0, hardware_threads = 0;
  std::vector<std::size_t> l1d, l2, l3;  ///< bytes of each cache of the level; empty if not reported
};

/// Nothing if it cannot be read.
std::optional<Topology> read_topology();

/// The logical processors that this process may run on. Where OpenMP binds threads, the initial thread is bound to one
/// place already when the program starts, so the places show which processors the process was given.
std::vector<int> processors_of_process();

/// The same from the files below `cpus`, as in /sys/devices/system/cpu; only `usable` processors are counted.
std::optional<Topology> topology_in(const std::filesystem::path& cpus, const std::vector<int>& usable);

}  // namespace rung
