/// Shared by the kernels that walk through trees: one thread per tree, and the bytes of the trees and their sums.
/// Floor: some ten integer operations per node, on lanes that all have a node to visit. A warp walks until the largest
/// of its 32 trees is done.
#pragma once

#include "common/problem/tree_walk.hpp"
#include "gpu/simt/simt.hpp"

namespace rung {

constexpr int kTreeThreads = 128;

inline Launch tree_launch(const Params& p) { return Launch{{blocks_for(p.at("n"), kTreeThreads)}, {kTreeThreads}}; }

inline Traffic tree_traffic(const Params& p) { return {.loaded = 4.0 * p.at("n"), .stored = 4.0 * p.at("n")}; }

inline int trees_of(const Call& call) { return static_cast<int>(call.params.at("n")); }
inline int depth_of(const Call& call) { return static_cast<int>(call.params.at("depth")); }

}  // namespace rung
