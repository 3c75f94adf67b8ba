/// Shared by the kernels of the exchange: the neighbours, and the launch. In an unnamed namespace, so that each of the
/// three builds of a kernel's file has its own copy.
#pragma once

#include "common/problem/exchange.hpp"
#include "gpu/simt/simt.hpp"

namespace rung {
namespace {

/// Threads of a block: whole rings.
using RingBlocks = Choices<256, 32, 1024>;

/// The element whose product element i receives: the next in its ring; beyond n, where nothing is kept, one of the same
/// 32.
__device__ __forceinline__ int next_in_ring(int i, int n) {
  const bool is_last = i % kExchangeRing == kExchangeRing - 1 || i + 1 == n;
  return is_last ? i / kExchangeRing * kExchangeRing : i + 1;
}

inline int ring_elements(const Params& p) { return static_cast<int>(p.at("n")); }
inline int ring_rounds(const Params& p) { return static_cast<int>(p.at("rounds")); }

/// One thread per element.
inline Launch ring_launch(const Params& p) {
  const auto threads = static_cast<unsigned>(p.at("block"));
  return Launch{{blocks_for(p.at("n"), threads)}, {threads}};
}

/// The traffic of a kernel that exchanges on chip: the inputs once, the result once.
inline Traffic ring_traffic(const Params& p) { return Traffic{.loaded = 8.0 * p.at("n"), .stored = 4.0 * p.at("n")}; }

/// For .run: launches a kernel of (x, y, z, n, rounds).
inline void run_ring(const Call& call, void (*kernel)(const mem<float>*, const mem<float>*, mem<float>*, int, int)) {
  launch(call, kernel, call.operand<const mem<float>>(0), call.operand<const mem<float>>(1),
         call.operand<mem<float>>(2), ring_elements(call.params), ring_rounds(call.params));
}

}  // namespace
}  // namespace rung
