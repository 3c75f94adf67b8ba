/// A model of the caches of a GPU: one L1 for each multiprocessor, one L2, and the traffic to DRAM. Its input are the
/// requests that the emulator counts. It has no clock: the requests of resident blocks are interleaved round-robin.
/// Devices of compute capability 1.x have no cache for global memory: each transaction that their half warps make
/// (half_warps.hpp) goes to DRAM.
///
/// Both levels have lines of 128 bytes in four sectors of 32 bytes, and are 16-way set-associative with LRU
/// replacement. Both are empty at the start of a launch, as with Nsight Compute's --cache-control all.
///
/// L1. Its size is what the carve-out for shared memory leaves of the multiprocessor's memory (l1_bytes). A load
/// fetches the missing sectors only. Stores are written through to the L2 and allocate in the L1 without a fetch.
/// Source: GPGPU-Sim's configuration SM90_H200 (dl1 …,L:T:m:L:L: write-through, lazy fetch on read). An H200 agrees:
/// the next load hits a stored sector, and stores evict loaded lines. A load past the L1 (__ldcg) looks nothing up
/// there and leaves nothing.
///
/// L2. A load miss fetches the aligned 64 bytes around the sector; this was observed on an H200 and is assumed for all
/// devices. A store allocates without a fetch. DRAM is written when a dirty line is evicted, and when more than half of
/// the lines of a set are dirty: an H200 retains stores of less than half the capacity of its L2. Devices of compute
/// capability 8.0, 9.0 and 10.0 have an L2 in two partitions: a line has its home in one of them, and multiprocessors
/// of the other side keep a copy in their own, so that data that both sides read occupies its size twice. A load counts
/// as a hit if the multiprocessor's own partition has the sector, as in lts__t_sectors_srcunit_tex_op_read_lookup_hit.
///
/// Known simplifications: a partial store counts as a store of the whole sector (the hardware keeps byte masks, and
/// later fetches what a load or the write to DRAM lacks); a load shortly after a miss of the same sector is a hit; the
/// hardware's replacement is not exactly LRU, so its hit rate falls less steeply once a working set exceeds a cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "common/model/devices.hpp"
#include "common/registry.hpp"

namespace rung {

/// Sectors of 32 bytes at each level.
struct CacheCounts {
  std::uint64_t l1_load_lines = 0;  ///< lines of the requests of loads: each takes the L1's data path one cycle
  std::uint64_t l1_load_sectors = 0, l1_load_hits = 0;    ///< lookups by loads in the L1s, and hits
  std::uint64_t l2_load_sectors = 0, l2_load_hits = 0;    ///< lookups by L1 load misses in the L2, and hits
  std::uint64_t l2_store_sectors = 0, l2_store_hits = 0;  ///< lookups by stores in the L2, and hits
  std::uint64_t dram_read_sectors = 0, dram_written_sectors = 0;
  double l1_hit_rate() const;  ///< 0 to 1; 0 without lookups
  double l2_hit_rate() const;  ///< of loads
  double dram_bytes() const { return 32.0 * static_cast<double>(dram_read_sectors + dram_written_sectors); }
  CacheCounts& operator+=(const CacheCounts& other);
};

/// The global-memory requests of one block, in order. An entry is a 128-byte line and the requested sectors of it.
class RequestStream {
 public:
  /// `line`: address / 128, below 2^56; `sectors`: bit i for the i-th sector of the line; `is_past_l1`: of a load.
  void add(std::uint64_t line, unsigned sectors, bool is_store, bool is_past_l1 = false) {
    entries_.push_back(line << 6 | std::uint64_t{is_past_l1} << 5 | std::uint64_t{is_store} << 4 | sectors);
  }
  void add(const RequestStream& other, std::size_t i) { entries_.push_back(other.entries_[i]); }
  void clear() { entries_.clear(); }
  std::size_t size() const { return entries_.size(); }
  std::size_t bytes() const { return entries_.size() * sizeof(entries_[0]); }
  std::uint64_t line(std::size_t i) const { return entries_[i] >> 6; }
  unsigned sectors(std::size_t i) const { return entries_[i] & 15; }
  bool is_store(std::size_t i) const { return entries_[i] >> 4 & 1; }
  bool is_past_l1(std::size_t i) const { return entries_[i] >> 5 & 1; }

 private:
  std::vector<std::uint64_t> entries_;
};

/// Resident blocks per SM, limited by threads and shared memory only: the number of registers is known to the GPU
/// compiler alone, so this is an upper bound. `static_shared_bytes` are added to the dynamic ones of the launch. Throws
/// Error, with the reason, if the device cannot run such a block.
int resident_blocks(const Device& device, const Launch& launch, std::size_t static_shared_bytes);

/// Bytes of an SM's L1: its memory less the smallest carve-out that holds the shared memory of `blocks_per_sm` blocks.
/// The driver may carve out more than is needed. Throws Error for devices older than compute capability 7.0, whose L1
/// works differently or is missing, and for blocks that do not fit.
std::size_t l1_bytes(const Device& device, int blocks_per_sm, std::size_t shared_bytes_per_block);

/// The caches of one device during one launch. Blocks are added by several OS threads.
///
/// Blocks form waves by their rank, the order in which they are started: with w = SMs * blocks_per_sm, the blocks of
/// rank 0 to w - 1 are resident together, then the next w, and so on. The i-th block of a wave is on SM i % SMs, as the
/// hardware assigns blocks of equal duration. A wave is simulated when it is complete: only the rank counts, not when a
/// block is added, so the counts do not depend on the number of OS threads. Memory is bounded by `buffered_bytes` and
/// one block for each OS thread: a wave of more than half of that is simulated in several parts, cut where its blocks
/// so far exceed it; and if more than half of it waits for a block of lower rank, it is simulated without that block
/// (this cannot happen if blocks are started in the order of their rank).
class CacheModel {
 public:
  /// `blocks`: of the launch; `blocks_per_sm`: resident at once on a multiprocessor, at least 1;
  /// `shared_bytes_per_block`: static and dynamic. Throws Error where l1_bytes does, unless the device has no cache for
  /// global memory.
  CacheModel(const Device& device, std::size_t blocks, int blocks_per_sm, std::size_t shared_bytes_per_block,
             std::size_t buffered_bytes = std::size_t{512} << 20);
  ~CacheModel();

  /// Adds the requests of the block of this rank, from 0; in forward order that is its linear index. Throws Error if
  /// the rank is not in the launch or was added before.
  void add_block(std::size_t rank, RequestStream&& requests);
  /// After the last block; throws Error if one is missing. Dirty sectors that remain in the L2 are not written to DRAM,
  /// as on the hardware at the end of a kernel.
  CacheCounts finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace rung
