/// What works asynchronously to the threads of a block of compute capability 9.0: the unit that copies whole tiles
/// (TMA), tensor cores that read shared memory, and the barriers by which threads wait for them and for each other.
/// Part of the runtime beneath the emulated vocabulary, the same for both builds of a kernel; defined in async.cpp.
///
/// Everything happens as late as a correct kernel allows: a tile is loaded, and copies are made, when a thread waits
/// for its mbarrier; a tile is stored when its thread waits for the store; a product is computed when its warp waits
/// for the group. So a kernel that does not wait sees the old contents.
///
/// An address of shared memory has 32 bits, as in PTX: bytes from the beginning of the block's window, whose first 1024
/// bytes are reserved. The bits from 24 on are 0 for the own block; for another block of the cluster they hold its rank
/// plus 1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <source_location>

#include "common/registry.hpp"

namespace rung {
inline namespace emulated {

using SharedAddress = std::uint32_t;

/// The address of dynamic shared memory; other memory fails the thread.
SharedAddress shared_address_of(const void* memory, std::source_location where);
/// The memory at an address of this block, or of another block of its cluster.
void* shared_memory_at(SharedAddress address, std::size_t bytes, std::source_location where);
/// The same address in block `rank` of the cluster.
SharedAddress address_in_block(int rank, SharedAddress address);

// ---- mbarriers: a phase ends when `count` threads have arrived and all bytes expected in it are there ----

void init_mbarrier(SharedAddress barrier, int count, std::source_location where);
/// Arrives, and expects `bytes` more in this phase. `block`: in the cluster; -1 is the own one.
void arrive_at_mbarrier(SharedAddress barrier, int bytes, int block, std::source_location where);
/// Arrives when the asynchronous copies that the thread has begun are complete; to be among the arrivals of the phase.
void arrive_at_mbarrier_after_copies(SharedAddress barrier, std::source_location where);
/// Waits, with all lanes of the warp, for the end of the phase of this parity.
void wait_for_phase(SharedAddress barrier, std::uint32_t parity, std::source_location where);

// ---- Barriers of some threads of a block, and of all threads of a cluster ----

void arrive_at_named_barrier(int id, int threads, bool waits, std::source_location where);
void meet_cluster(std::source_location where);
int rank_in_cluster();
/// For the hazard checks, before a thread reads memory of another block of its cluster.
void check_cluster_read(SharedAddress address, std::size_t bytes, std::source_location where);

// ---- Flags in global memory, which order what comes before and after; not counted as bytes that a kernel moves ----

void release_flag(unsigned* flag, unsigned value);
/// Lets other threads run first.
unsigned acquire_flag(const unsigned* flag);

// ---- TMA ----

/// A row-major matrix in global memory and the boxes in which it is copied; all sizes are in bytes, except the rows. A
/// single line of bytes is copied as a matrix of one row.
struct TiledMatrix {
  std::byte* at = nullptr;
  std::int64_t pitch = 0;
  std::int64_t row_bytes = 0, rows = 0;
  int element_bytes = 0;
  int box_row_bytes = 0, box_rows = 0;
  std::uint32_t swizzle = 0;  ///< of patterns of 128, 64 or 32 bytes: 7, 3 or 1; 0 is none
  int alignment = 128;        ///< of a box in shared memory
};

/// Loads the box that begins at element x of row y, x at a multiple of 16 bytes; zeros beyond the matrix. `blocks`: the
/// blocks of the cluster that receive it, one bit per block; 0 is the own block alone.
void load_box(SharedAddress to, const TiledMatrix& from, SharedAddress barrier, int x, int y, std::uint32_t blocks,
              std::source_location where);
/// The same of a line of bytes, a multiple of 16.
void load_line(SharedAddress to, const void* from, int bytes, SharedAddress barrier, std::source_location where);
/// Stores the part of a box that is inside the matrix.
void store_box(const TiledMatrix& to, SharedAddress from, int x, int y, std::source_location where);
void store_line(void* to, SharedAddress from, int bytes, std::source_location where);
/// Waits for all stores of this thread except the latest `left`.
void wait_for_stores(std::size_t left);
/// Between what threads write to shared memory and a unit that uses it: makes visible what happens before.
void fence_for_units();

// ---- Products of tiles in shared memory ----

/// 64 x cols sums of a warpgroup, + A B, where k numbers are 32 bytes.
struct TileProduct {
  Type type = Type::bf16;
  int cols = 0;
  bool a_by_rows = false;      ///< A is stored by rows of m, else of k
  bool b_by_rows = false;      ///< B is stored by rows of n, else of k
  bool adds = false;           ///< to the sums, which are else overwritten
  std::uint64_t a = 0, b = 0;  ///< matrix descriptors, as PTX has them
  void* sums = nullptr;        ///< cols / 2 of this thread: float, or int for int8
  std::size_t group = 0;       ///< filled in by open_product(), as is its name in the hazard checks
  std::uint64_t name = 0;
  std::source_location where = {};
};
/// Before the first product of a warp, and after other instructions have written its sums.
void fence_products();
void open_product(TileProduct product);
void commit_products();
/// Waits, with all lanes of the warp, for all groups except the latest `left`.
void wait_for_products(std::size_t left, std::source_location where);

}  // namespace emulated
}  // namespace rung
