/// The transactions that a warp's request makes on devices of compute capability 1.x, which have no cache for global
/// memory: each half warp has its own. Source: CUDA C Programming Guide up to version 8, compute capability 1.x, global
/// memory.
///
/// 1.0 and 1.1. Words of 4 bytes: where lane i of the half warp accesses word i of an aligned segment of 64 bytes
/// (lanes may be missing), there is one transaction of 64 bytes; for words of 8 bytes one of 128, of 16 bytes two of
/// 128. If a single lane does not, each lane has a transaction of 32 bytes of its own, even where all read the same
/// address. 1.2 and 1.3. One transaction for each segment of 128 bytes that is touched (32 and 64 for words of 1 and 2
/// bytes), cut to the half and to the quarter of it if all words lie there.
#pragma once

#include <cstdint>

#include "common/emulator/caches.hpp"

namespace rung {

inline bool makes_half_warps(const Device& device) { return device.major == 1; }

/// The lanes of one request.
class HalfWarps {
 public:
  /// `word`: the lane's address / 4.
  void set(int lane, std::int32_t word) {
    words_[lane] = word;
    active_ |= 1u << lane;
  }
  /// Adds the transactions of accesses of `bytes` each.
  void add_to(RequestStream& stream, int bytes, bool is_store, const Device& device) const;

 private:
  static constexpr int kLanes = 16;
  bool is_active(int lane) const { return active_ >> lane & 1; }
  bool is_in_order(int first, int bytes) const;
  void add_segments(RequestStream& stream, int first, int bytes, bool is_store) const;

  std::int32_t words_[2 * kLanes] = {};
  std::uint32_t active_ = 0;
};

}  // namespace rung
