/// Shared by the kernels of the branches: which path a thread takes, the steps of a path, and the record's parts. In an
/// unnamed namespace, so that each of the three builds of a kernel's file has its own copy.
#pragma once

#include "common/problem/branches.hpp"
#include "gpu/simt/ways_walked.hpp"

namespace rung {
namespace {

/// The index of the thread's group among 32: below `taken`, the thread takes the first path.
__device__ __forceinline__ int first_place(int i, int group, int taken) { return (i / group * taken) & 31; }
/// Its index in the next round.
__device__ __forceinline__ int next_place(int place, int taken) { return (place + taken) & 31; }

template <int Body>
__device__ __forceinline__ void step(reg<float>& value, float factor, float term) {
#pragma unroll
  for (int i = 0; i < Body; ++i) value = value * factor + term;
}

inline Launch branch_launch(const Params& p) {
  return Launch{{blocks_for(p.at("n"), kBranchThreads)}, {kBranchThreads}};
}

inline Traffic branch_traffic(const Params& p) { return Traffic{.loaded = 4.0 * p.at("n"), .stored = 4.0 * p.at("n")}; }

/// For .run: launches a kernel of (x, y, n, rounds, group, taken).
inline void run_branches(const Call& call, void (*kernel)(const mem<float>*, mem<float>*, int, int, int, int)) {
  const auto size = [&](const char* name) { return static_cast<int>(call.params.at(name)); };
  launch(call, kernel, call.operand<const mem<float>>(0), call.operand<mem<float>>(1), size("n"), size("rounds"),
         size("group"), size("taken"));
}

}  // namespace
}  // namespace rung
