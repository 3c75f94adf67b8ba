/// The instructions of wgmma_ptx.hpp in the emulator: the products of a warp are computed when it waits for them.
#pragma once

#include "gpu/simt/hopper_emulated.hpp"

namespace rung::hopper {
inline namespace RUNG_EMULATION {

RUNG_INLINE void wgmma_fence() { fence_products(); }
RUNG_INLINE void wgmma_commit() { commit_products(); }
template <int kLeft>
RUNG_INLINE void wgmma_wait(Where where = Where::current()) {
  wait_for_products(kLeft, where);
}

template <Type kType, int kCols, bool kBByRowsOfN = true, bool kAByRowsOfM = false>
RUNG_INLINE void wgmma_64(reg<Sum<kType>> (&sum)[kCols / 2], std::uint64_t a_tile, std::uint64_t b_tile, int adds,
                          Where where = Where::current()) {
  constexpr int kFmasOfAThread = 64 * kCols * (32 / static_cast<int>(sizeof(StoredAs<kType>))) / 128;
  tally_tensor(kFmasOfAThread);
  open_product({.type = kType,
                .cols = kCols,
                .a_by_rows = kAByRowsOfM,
                .b_by_rows = kBByRowsOfN,
                .adds = adds != 0,
                .a = a_tile,
                .b = b_tile,
                .sums = sum,
                .where = where});
}

template <typename T, int kCount>
RUNG_INLINE void keep_in_order(T (&)[kCount]) {}

}  // namespace RUNG_EMULATION
}  // namespace rung::hopper
