/// Warp-level operations: shuffles, votes, matches and reductions.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <source_location>
#include <string>

#include "gpu/simt/emulated_atomic.hpp"

namespace rung {
inline namespace RUNG_EMULATION {

/// The place of a call in the kernel's source.
using Where = std::source_location;

template <typename T>
RUNG_INLINE T from_bits(std::uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}

// ---- Shuffles ----

/// How the argument of a shuffle selects the source lane.
enum class ShuffleKind { lane, distance_up, distance_down, bits_to_flip };

/// The lane from which `lane` reads; itself if the selected lane is outside its segment of `width` lanes.
/// Source: PTX ISA, shfl.sync.
RUNG_UNTRACED inline unsigned source_lane(ShuffleKind kind, unsigned lane, unsigned argument, int width) {
  if (width < 1 || width > warpSize || !std::has_single_bit(static_cast<unsigned>(width)))
    fail_thread(finding_kind::bad_shuffle, "width " + std::to_string(width) + " is not a power of two up to 32");
  const unsigned first = lane & ~static_cast<unsigned>(width - 1), last = first + static_cast<unsigned>(width) - 1;
  argument &= 31;
  switch (kind) {
    case ShuffleKind::lane:
      return first + (argument & static_cast<unsigned>(width - 1));
    case ShuffleKind::distance_up:
      return lane >= first + argument ? lane - argument : lane;
    case ShuffleKind::distance_down:
      return lane + argument <= last ? lane + argument : lane;
    case ShuffleKind::bits_to_flip:
      return (lane ^ argument) <= last ? lane ^ argument : lane;
  }
  return lane;
}

RUNG_UNTRACED inline std::uint64_t shuffle_bits(ShuffleKind kind, unsigned mask, std::uint64_t bits, unsigned argument,
                                                int width, Where where) {
  const unsigned source = source_lane(kind, lane_of_thread(), argument, width);
  const ConvergedLanes converged = converge_warp(ConvergencePoint::shuffle, mask, bits, where);
  if (!(converged.lanes >> source & 1))
    fail_thread(finding_kind::divergent_warp, "shuffles from lane " + std::to_string(source) + ", which takes no part,",
                where);
  return converged.values[source];
}

template <NumberLike T>
RUNG_INLINE auto shuffle(ShuffleKind kind, unsigned mask, const T& value, unsigned argument, int width, Where where) {
  using S = decltype(+scalar_of<T>{});
  const S own = static_cast<S>(scalar(value));
  return reg<S>(from_bits<S>(shuffle_bits(kind, mask, to_bits(own), argument, width, where)));
}

template <NumberLike T>
RUNG_INLINE auto __shfl_sync(unsigned mask, const T& value, int lane, int width = warpSize,
                             Where where = Where::current()) {
  return shuffle(ShuffleKind::lane, mask, value, static_cast<unsigned>(lane), width, where);
}
template <NumberLike T>
RUNG_INLINE auto __shfl_up_sync(unsigned mask, const T& value, unsigned distance, int width = warpSize,
                                Where where = Where::current()) {
  return shuffle(ShuffleKind::distance_up, mask, value, distance, width, where);
}
template <NumberLike T>
RUNG_INLINE auto __shfl_down_sync(unsigned mask, const T& value, unsigned distance, int width = warpSize,
                                  Where where = Where::current()) {
  return shuffle(ShuffleKind::distance_down, mask, value, distance, width, where);
}
template <NumberLike T>
RUNG_INLINE auto __shfl_xor_sync(unsigned mask, const T& value, int bits_to_flip, int width = warpSize,
                                 Where where = Where::current()) {
  return shuffle(ShuffleKind::bits_to_flip, mask, value, static_cast<unsigned>(bits_to_flip), width, where);
}

// ---- Barriers, votes ----

RUNG_INLINE void __syncwarp(unsigned mask = ~0u, Where where = Where::current()) {
  converge_warp(ConvergencePoint::barrier, mask, 0, where);
}
RUNG_INLINE unsigned __activemask(Where where = Where::current()) {
  return converge_warp(ConvergencePoint::activemask, 0, 0, where).lanes;
}

/// A bit for each participating lane whose value is `wanted`.
RUNG_UNTRACED inline unsigned lanes_with(std::uint64_t wanted, unsigned mask, std::uint64_t own, Where where) {
  const ConvergedLanes converged = converge_warp(ConvergencePoint::vote, mask, own, where);
  unsigned lanes = 0;
  for (unsigned rest = converged.lanes; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    if (converged.values[lane] == wanted) lanes |= 1u << lane;
  }
  return lanes;
}

RUNG_INLINE unsigned __ballot_sync(unsigned mask, int predicate, Where where = Where::current()) {
  return lanes_with(1, mask, predicate != 0, where);
}
RUNG_INLINE int __any_sync(unsigned mask, int predicate, Where where = Where::current()) {
  return lanes_with(1, mask, predicate != 0, where) != 0;
}
RUNG_INLINE int __all_sync(unsigned mask, int predicate, Where where = Where::current()) {
  return lanes_with(0, mask, predicate != 0, where) == 0;
}

template <NumberLike T>
RUNG_INLINE unsigned __match_any_sync(unsigned mask, const T& value, Where where = Where::current()) {
  const std::uint64_t own = to_bits(scalar(value));
  return lanes_with(own, mask, own, where);
}
/// The mask, and a predicate of 1, if all lanes have the same value; else 0 and 0.
template <NumberLike T>
RUNG_INLINE unsigned __match_all_sync(unsigned mask, const T& value, int* predicate, Where where = Where::current()) {
  const std::uint64_t own = to_bits(scalar(value));
  *predicate = std::popcount(lanes_with(own, mask, own, where) ^ mask) == 0;
  return static_cast<unsigned>(-*predicate) & mask;
}

// ---- Reductions ----

template <typename T, typename Fold>
RUNG_UNTRACED inline T fold_lanes(unsigned mask, T own, Fold fold, Where where) {
  const ConvergedLanes converged = converge_warp(ConvergencePoint::shuffle, mask, to_bits(own), where);
  T result = own;
  for (unsigned rest = converged.lanes & ~(1u << lane_of_thread()); rest != 0; rest &= rest - 1)
    result = fold(result, from_bits<T>(converged.values[std::countr_zero(rest)]));
  return result;
}

#define RUNG_REDUCTION(name, Fold, ...)                                        \
  template <OneOf<__VA_ARGS__> T>                                              \
  RUNG_INLINE T name(unsigned mask, T value, Where where = Where::current()) { \
    return fold_lanes(mask, value, Fold{}, where);                             \
  }
RUNG_REDUCTION(__reduce_add_sync, AtomicSum, int, unsigned)
RUNG_REDUCTION(__reduce_min_sync, AtomicMinimum, int, unsigned)
RUNG_REDUCTION(__reduce_max_sync, AtomicMaximum, int, unsigned)
RUNG_REDUCTION(__reduce_and_sync, AtomicAnd, unsigned)
RUNG_REDUCTION(__reduce_or_sync, AtomicOr, unsigned)
RUNG_REDUCTION(__reduce_xor_sync, AtomicXor, unsigned)
#undef RUNG_REDUCTION

}  // namespace RUNG_EMULATION
}  // namespace rung
