/// The basics of CUDA's cooperative groups: the block, tiles of a warp, coalesced groups, and the grid.
#pragma once

#include <bit>

#include "gpu/simt/simt.hpp"

namespace rung {
inline namespace RUNG_EMULATION {

namespace cooperative_groups {

/// The linear index of a thread in its block or of a block in the grid, x first.
RUNG_INLINE unsigned linear(const uint3& i, const dim3& extent) { return (i.z * extent.y + i.y) * extent.x + i.x; }

/// All threads of the block.
class thread_block {
 public:
  RUNG_INLINE static void sync(Where where = Where::current()) { wait_for_block(0, where); }
  RUNG_INLINE static unsigned thread_rank() { return linear(threadIdx, blockDim); }
  RUNG_INLINE static unsigned num_threads() { return blockDim.x * blockDim.y * blockDim.z; }
  RUNG_INLINE static unsigned size() { return num_threads(); }
  RUNG_INLINE static dim3 thread_index() { return {threadIdx.x, threadIdx.y, threadIdx.z}; }
  RUNG_INLINE static dim3 group_index() { return {blockIdx.x, blockIdx.y, blockIdx.z}; }
  RUNG_INLINE static dim3 dim_threads() { return blockDim; }
  RUNG_INLINE static dim3 group_dim() { return blockDim; }
};
RUNG_INLINE thread_block this_thread_block() { return {}; }

/// All threads of the launch. Grid-wide synchronisation is not emulated: blocks do not all run at once.
class grid_group {
 public:
  RUNG_INLINE static unsigned long long thread_rank() {
    return static_cast<unsigned long long>(block_rank()) * thread_block::num_threads() + thread_block::thread_rank();
  }
  RUNG_INLINE static unsigned long long num_threads() { return num_blocks() * thread_block::num_threads(); }
  RUNG_INLINE static unsigned long long size() { return num_threads(); }
  RUNG_INLINE static unsigned long long block_rank() { return linear(blockIdx, gridDim); }
  RUNG_INLINE static unsigned long long num_blocks() {
    return static_cast<unsigned long long>(gridDim.x) * gridDim.y * gridDim.z;
  }
};
RUNG_INLINE grid_group this_grid() { return {}; }

/// `Size` consecutive lanes of a warp.
template <unsigned Size>
class thread_block_tile {
  static_assert(Size <= 32 && std::has_single_bit(Size), "a tile has 1, 2, 4, 8, 16 or 32 threads");
  static constexpr int kWidth = Size;

 public:
  RUNG_INLINE static unsigned thread_rank() { return thread_block::thread_rank() % Size; }
  static constexpr unsigned num_threads() { return Size; }
  static constexpr unsigned size() { return Size; }
  RUNG_INLINE static unsigned meta_group_rank() { return thread_block::thread_rank() / Size; }
  RUNG_INLINE static unsigned meta_group_size() { return (thread_block::num_threads() + Size - 1) / Size; }

  RUNG_INLINE static void sync(Where where = Where::current()) { __syncwarp(mask(), where); }
  template <NumberLike T>
  RUNG_INLINE static auto shfl(const T& value, int rank, Where where = Where::current()) {
    return __shfl_sync(mask(), value, rank, kWidth, where);
  }
  template <NumberLike T>
  RUNG_INLINE static auto shfl_up(const T& value, unsigned distance, Where where = Where::current()) {
    return __shfl_up_sync(mask(), value, distance, kWidth, where);
  }
  template <NumberLike T>
  RUNG_INLINE static auto shfl_down(const T& value, unsigned distance, Where where = Where::current()) {
    return __shfl_down_sync(mask(), value, distance, kWidth, where);
  }
  template <NumberLike T>
  RUNG_INLINE static auto shfl_xor(const T& value, unsigned bits, Where where = Where::current()) {
    return __shfl_xor_sync(mask(), value, static_cast<int>(bits), kWidth, where);
  }
  RUNG_INLINE static int any(int predicate, Where where = Where::current()) {
    return __any_sync(mask(), predicate, where);
  }
  RUNG_INLINE static int all(int predicate, Where where = Where::current()) {
    return __all_sync(mask(), predicate, where);
  }
  RUNG_INLINE static unsigned ballot(int predicate, Where where = Where::current()) {
    return __ballot_sync(mask(), predicate, where) >> first_lane();
  }
  template <NumberLike T>
  RUNG_INLINE static unsigned match_any(const T& value, Where where = Where::current()) {
    return __match_any_sync(mask(), value, where) >> first_lane();
  }

 private:
  RUNG_INLINE static unsigned first_lane() { return lane_of_thread() & ~(Size - 1); }
  RUNG_INLINE static unsigned mask() { return ~0u >> (32 - Size) << first_lane(); }
};

template <unsigned Size>
RUNG_INLINE thread_block_tile<Size> tiled_partition(const thread_block&) {
  return {};
}
template <unsigned Size, unsigned Whole>
requires(Size <= Whole) RUNG_INLINE thread_block_tile<Size> tiled_partition(const thread_block_tile<Whole>&) {
  return {};
}

/// The active lanes of a warp at one place in the code.
class coalesced_group {
 public:
  RUNG_INLINE explicit coalesced_group(unsigned lanes) : lanes_(lanes) {}
  RUNG_INLINE unsigned thread_rank() const {
    return static_cast<unsigned>(std::popcount(lanes_ & ((1u << lane_of_thread()) - 1)));
  }
  RUNG_INLINE unsigned num_threads() const { return static_cast<unsigned>(std::popcount(lanes_)); }
  RUNG_INLINE unsigned size() const { return num_threads(); }
  RUNG_INLINE void sync(Where where = Where::current()) const { __syncwarp(lanes_, where); }
  template <NumberLike T>
  RUNG_INLINE auto shfl(const T& value, unsigned rank, Where where = Where::current()) const {
    return __shfl_sync(lanes_, value, lane_at(rank), warpSize, where);
  }
  RUNG_INLINE int any(int predicate, Where where = Where::current()) const {
    return __any_sync(lanes_, predicate, where);
  }
  RUNG_INLINE int all(int predicate, Where where = Where::current()) const {
    return __all_sync(lanes_, predicate, where);
  }

 private:
  /// The lane of that rank, modulo the size of the group.
  RUNG_UNTRACED int lane_at(unsigned rank) const {
    unsigned lanes = lanes_;
    for (rank %= num_threads(); rank > 0; --rank) lanes &= lanes - 1;
    return std::countr_zero(lanes);
  }
  unsigned lanes_;
};
RUNG_INLINE coalesced_group coalesced_threads(Where where = Where::current()) {
  return coalesced_group(__activemask(where));
}

template <typename Group>
RUNG_INLINE void sync(const Group& group, Where where = Where::current()) {
  group.sync(where);
}

}  // namespace cooperative_groups
}  // namespace RUNG_EMULATION
}  // namespace rung

namespace cooperative_groups = rung::cooperative_groups;
