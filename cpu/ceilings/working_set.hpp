/// Working sets that live in one level of this machine's memory and in no nearer one, from the sizes of its caches.
#pragma once

#include <algorithm>
#include <cstdint>

#include "common/harness/cpu_info.hpp"

namespace rung {

enum class Level { l1, l2, l3, dram };

constexpr std::int64_t kMiB = std::int64_t{1} << 20;

/// Bytes of one array that all threads together read, each its own part. 0 if the machine has no such level, or does
/// not tell its size, or has too little memory to get past its caches.
inline std::int64_t working_set(Level level) {
  const CpuInfo& cpu = cpu_info();
  const std::int64_t threads = cpu_threads();
  const std::int64_t sharers = (threads + cpu.cores - 1) / cpu.cores;  // threads on one core, with its L1 and L2
  const auto all_l2 = static_cast<std::int64_t>(cpu.all_l2_bytes), all_l3 = static_cast<std::int64_t>(cpu.all_l3_bytes);
  switch (level) {
    case Level::l1:
      return static_cast<std::int64_t>(cpu.l1d_bytes) / 2 / sharers * threads;
    case Level::l2:
      return static_cast<std::int64_t>(cpu.l2_bytes) / 2 / sharers * threads;
    case Level::l3:
      // Twice the L2s, so that they keep nothing until it is wanted again. Where the L3 is smaller than the L2s it
      // holds only what these gave up, and both together have room for the L2s and half the L3.
      return all_l3 == 0 ? 0 : std::max(all_l3 / 2, std::min(2 * all_l2, all_l2 + all_l3 / 2));
    case Level::dram: {
      // Four times the caches; 256 MiB at least, since a virtual machine may be told of less L3 than its host has.
      const std::int64_t wanted = std::max(4 * (all_l2 + all_l3), 256 * kMiB);
      const std::int64_t affordable = static_cast<std::int64_t>(cpu.memory_bytes) / 16;
      return affordable < wanted / 2 ? 0 : std::min(wanted, affordable);
    }
  }
  return 0;
}

/// The working set rounded down to whole granules; one granule for a level that working_set() does not find.
inline std::int64_t granular_working_set(Level level, std::int64_t granule) {
  return std::max(working_set(level) / granule, std::int64_t{1}) * granule;
}

/// Why a level cannot be measured on this machine; empty if it can.
inline std::string refuse_level(Level level) {
  if (working_set(level) > 0) return "";
  if (level == Level::dram) return "this machine has too little memory for arrays larger than its caches";
  const char* names[] = {"L1 data cache", "L2 cache", "L3 cache"};
  return std::string("this machine has no ") + names[static_cast<int>(level)] + ", or does not tell its size";
}

}  // namespace rung
