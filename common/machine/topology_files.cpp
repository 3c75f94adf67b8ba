/// Linux's files on cores and caches.
#include <omp.h>
#include <sched.h>

#include <fstream>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "common/machine/topology.hpp"

namespace rung {
namespace {

std::string line_of(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  return line;
}

/// "32K" or "1M" to bytes; 0 if it is neither.
std::size_t bytes_of(const std::string& text) {
  std::size_t digits = 0;
  while (digits < text.size() && digits < 9 && text[digits] >= '0' && text[digits] <= '9') ++digits;
  if (digits == 0) return 0;
  const std::string unit = text.substr(digits);
  return std::stoull(text.substr(0, digits)) << (unit == "K" ? 10 : unit == "M" ? 20 : unit == "G" ? 30 : 0);
}

}  // namespace

std::vector<int> processors_of_process() {
  std::vector<int> usable;
  for (int place = 0; place < omp_get_num_places(); ++place) {
    std::vector<int> ids(omp_get_place_num_procs(place));
    omp_get_place_proc_ids(place, ids.data());
    usable.insert(usable.end(), ids.begin(), ids.end());
  }
  cpu_set_t mask;
  if (usable.empty() && sched_getaffinity(0, sizeof mask, &mask) == 0)
    for (int id = 0; id < CPU_SETSIZE; ++id)
      if (CPU_ISSET(id, &mask)) usable.push_back(id);
  return usable;
}

std::optional<Topology> topology_in(const std::filesystem::path& cpus, const std::vector<int>& usable) {
  std::set<std::pair<std::string, std::string>> cores;                   // package and core
  std::map<std::pair<std::string, std::string>, std::size_t> caches[4];  // by level: who shares it, and which it is
  int threads = 0;
  for (const int id : usable) {
    const std::filesystem::path cpu = cpus / ("cpu" + std::to_string(id));
    const std::string core = line_of(cpu / "topology/core_id");
    if (core.empty()) continue;
    ++threads;
    cores.insert({line_of(cpu / "topology/physical_package_id"), core});
    for (int index = 0;; ++index) {
      const std::filesystem::path cache = cpu / ("cache/index" + std::to_string(index));
      const std::string level = line_of(cache / "level");
      if (level.empty()) break;
      if (line_of(cache / "type") == "Instruction" || level.size() != 1 || level < "1" || level > "3") continue;
      if (const std::size_t bytes = bytes_of(line_of(cache / "size")))
        caches[level[0] - '0'][{line_of(cache / "shared_cpu_list"), line_of(cache / "id")}] = bytes;
    }
  }
  if (threads == 0) return std::nullopt;
  Topology topology{.cores = static_cast<int>(cores.size()), .hardware_threads = threads};
  for (const auto& [which, bytes] : caches[1]) topology.l1d.push_back(bytes);
  for (const auto& [which, bytes] : caches[2]) topology.l2.push_back(bytes);
  for (const auto& [which, bytes] : caches[3]) topology.l3.push_back(bytes);
  return topology;
}

}  // namespace rung
