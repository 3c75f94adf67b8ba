/// Working sets that fit into one level of this machine's memory and into no nearer one, from the sizes of its caches,
/// for the number of threads that a parallel region would now have.
#pragma once

#include <omp.h>

#include <algorithm>
#include <cstdint>

#include "common/machine/cpu_info.hpp"
#include "common/registry.hpp"

namespace rung {

enum class Level { l1, l2, l3, dram };

constexpr std::int64_t kMiB = std::int64_t{1} << 20;

/// Bytes that all threads together use, each its own part: of all arrays in a cache, of each array in DRAM. 0 if the
/// machine has no such level, if its size is unknown, or if there is too little memory to exceed the caches.
inline std::int64_t working_set(Level level) {
  const CpuInfo& cpu = cpu_info();
  const std::int64_t threads = omp_get_max_threads();
  const std::int64_t sharers = (threads + cpu.cores - 1) / cpu.cores;  // threads on one core, with its L1 and L2
  const auto l2 = static_cast<std::int64_t>(cpu.l2_bytes), l3 = static_cast<std::int64_t>(cpu.l3_bytes);
  const auto all_l2 = static_cast<std::int64_t>(cpu.all_l2_bytes), all_l3 = static_cast<std::int64_t>(cpu.all_l3_bytes);
  switch (level) {
    case Level::l1:
      return static_cast<std::int64_t>(cpu.l1d_bytes) / 2 / sharers * threads;
    case Level::l2:
      return l2 / 2 / sharers * threads;
    case Level::l3: {
      if (l3 == 0) return 0;
      // The caches that the threads reach if they are on the fewest cores possible.
      const std::int64_t used_l2 = std::min(threads * l2, all_l2);
      const std::int64_t threads_per_l3 = std::max(cpu.hardware_threads / (all_l3 / l3), std::int64_t{1});
      const std::int64_t used_l3 = std::min((threads + threads_per_l3 - 1) / threads_per_l3 * l3, all_l3);
      // Twice the L2s, so that they evict all data before it is used again. An L3 smaller than the L2s holds only lines
      // that these evicted; then the working set is the L2s and half the L3.
      return std::max(used_l3 / 2, std::min(2 * used_l2, used_l2 + used_l3 / 2));
    }
    case Level::dram: {
      // Twice the caches; 256 MiB at least, since a virtual machine may report less L3 than its host has.
      const std::int64_t wanted = std::max(2 * (all_l2 + all_l3), 256 * kMiB);
      const std::int64_t affordable = static_cast<std::int64_t>(cpu.memory_bytes) / 16;
      return affordable < wanted / 2 ? 0 : std::min(wanted, affordable);
    }
  }
  return 0;
}

/// The sizes "bytes", of each of `arrays` arrays, and "passes" for a level. Bytes are whole granules, one for a level
/// that working_set() does not find. The passes add up to 128 MiB per thread and call: a millisecond or more, against
/// which the start of the threads is negligible.
inline Params level_sizes(Level level, int arrays, std::int64_t granule) {
  const std::int64_t share = working_set(level) / (level == Level::dram ? 1 : arrays);
  const std::int64_t bytes = std::max(share / granule, std::int64_t{1}) * granule;
  return {{"bytes", bytes},
          {"passes", std::max(omp_get_max_threads() * 128 * kMiB / (arrays * bytes), std::int64_t{1})}};
}

/// Why a level cannot be measured on this machine; empty if it can.
inline std::string refuse_level(Level level) {
  if (working_set(level) > 0) return "";
  if (level == Level::dram) return "this machine has too little memory for arrays larger than its caches";
  const char* names[] = {"L1 data cache", "L2 cache", "L3 cache"};
  return std::string("this machine has no ") + names[static_cast<int>(level)] + ", or its size is unknown";
}

/// Every thread of a team of `threads` does part(thread, begin, end) for its own contiguous share of [0, granules).
template <typename Part>
void share_out(std::int64_t granules, int threads, const Part& part) {
#pragma omp parallel num_threads(threads)
  {
    const std::int64_t thread = omp_get_thread_num(), team = omp_get_num_threads();
    part(thread, granules * thread / team, granules * (thread + 1) / team);
  }
}

}  // namespace rung
