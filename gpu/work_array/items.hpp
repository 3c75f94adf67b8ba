/// Shared by the kernels with an array per item: a grid as large as the GPU can hold at once, whose threads take one
/// item after another, so that an array is needed per thread, not per item. Floor: the bytes of the operands are few;
/// an item costs its two passes over `length` words, wherever these are.
#pragma once

#include <algorithm>

#include "common/machine/device_facts.hpp"
#include "common/problem/work_array.hpp"
#include "gpu/simt/simt.hpp"

namespace rung {

constexpr int kWorkThreads = 256;
constexpr int kWorkBlocksPerSm = 8;  // 2048 threads: every slot of a multiprocessor

inline Launch work_launch(const Params& p) {
  const auto resident = static_cast<unsigned>(gpu_facts().sm_count * kWorkBlocksPerSm);
  return Launch{{std::min(resident, blocks_for(p.at("n"), kWorkThreads))}, {kWorkThreads}};
}

inline std::int64_t work_grid_threads(const Params& p) { return std::int64_t{work_launch(p).grid.x} * kWorkThreads; }

/// The traffic of starts and sums, and of both passes over arrays in global memory.
inline Traffic global_array_traffic(const Params& p) {
  const double items = 4.0 * p.at("n"), words = items * p.at("length");
  return {.loaded = items + words, .stored = items + words};
}

inline int items_of(const Call& call) { return static_cast<int>(call.params.at("n")); }
inline int length_of(const Call& call) { return static_cast<int>(call.params.at("length")); }

/// For all arrays that exist at once, one per thread of the grid.
inline double bytes_at_once(const Call& call) { return 4.0 * work_grid_threads(call.params) * length_of(call); }

}  // namespace rung
