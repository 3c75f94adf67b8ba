/// Shared by the kernels of the lookups: the walk through the table, and the record's parts. In an unnamed namespace,
/// so that each of the three builds of a kernel's file has its own copy.
#pragma once

#include "common/problem/lookup.hpp"
#include "gpu/simt/simt.hpp"

namespace rung {
namespace {

/// Threads of a block: many, so that the multiprocessor is full although each block has a copy of the table in shared
/// memory.
constexpr int kLookupThreads = 1024;

/// The sum of the words that thread i reads. read(place): the word there.
template <LookupChain kChain, typename Read>
__device__ __forceinline__ unsigned walk(int i, int rounds, unsigned rows, int distinct, const Read& read) {
  const unsigned column = i & (distinct - 1);
  unsigned row = static_cast<unsigned>(i) / 32 & (rows - 1), sum = 0;
#pragma unroll 8
  for (int round = 0; round < rounds; ++round) {
    const unsigned word = read(row * kLookupColumns + column);
    sum += word;
    row = (kChain == LookupChain::dependent ? word : row + 1) & (rows - 1);
  }
  return sum;
}

inline Launch lookup_launch(const Params& p, std::size_t shared_bytes = 0) {
  return Launch{{blocks_for(p.at("n"), kLookupThreads)}, {kLookupThreads}, shared_bytes};
}

/// For .run: calls act(chain) with the chain as a constant.
template <typename Act>
void with_lookup_chain(const Call& call, const Act& act) {
  if (call.params.at("chain") == static_cast<std::int64_t>(LookupChain::dependent))
    act(std::integral_constant<LookupChain, LookupChain::dependent>{});
  else
    act(std::integral_constant<LookupChain, LookupChain::independent>{});
}

inline int lookup_size(const Call& call, const char* name) { return static_cast<int>(call.params.at(name)); }

}  // namespace
}  // namespace rung
