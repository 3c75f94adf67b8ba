/// A model of a GPU's caches, fed with the requests that the emulator counts: one L1 for each multiprocessor, one L2,
/// and the bytes that pass on to DRAM. It has no clock: blocks that are resident together take turns, request by
/// request.
///
/// Both levels have lines of 128 bytes in four sectors of 32 bytes, sixteen ways, and replace the least recently used
/// line of a set. Both are empty when a launch begins, as Nsight Compute's --cache-control all leaves them.
///
/// L1. What the carve-out leaves of the multiprocessor's memory (l1_bytes). A load fetches the sectors that are
/// missing, no more. A store goes through to the L2 and stays in the L1, too, at a line's cost, without fetching
/// anything; GPGPU-Sim's configuration SM90_H200 says so (dl1 …,L:T:m:L:L: write-through, lazy fetch on read), and an
/// H200 does: a stored sector is hit by the next load, and stores push loaded lines out.
///
/// L2. A load that misses fetches the aligned 64 bytes around its sector: an H200 reads 64 bytes for one sector of each
/// line; all devices are taken to do so. A store allocates without fetching; DRAM is written when
/// a dirty line leaves, or when more than half of a set's lines are dirty: an H200 with 60 MiB keeps 24 MiB of stores
/// to itself and loses what exceeds some 27. Devices of compute capability 8.0, 9.0 and 10.0 have an L2 in two halves:
/// a line has its home in one, and a multiprocessor of the other side keeps a copy in its own. Data that is read from
/// both sides takes its room twice: an H200 holds 32 MiB, and not 48, of what its SMs read twice. A load counts as a
/// hit if the multiprocessor's own half has the sector, which is what lts__t_sectors_srcunit_tex_op_read_lookup_hit
/// counts.
///
/// Known simplifications: a sector that is stored in part counts as stored whole (the hardware keeps masks of bytes,
/// and fetches what a later load or the write to DRAM lacks); a load that follows closely on a miss of the same sector
/// is a hit; the hardware's replacement is not quite LRU, so it falls less steeply where a working set exceeds a cache.
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
  std::uint64_t l1_load_sectors = 0, l1_load_hits = 0;    ///< asked of the L1s, and found there
  std::uint64_t l2_load_sectors = 0, l2_load_hits = 0;    ///< asked of the L2 by the L1s' misses, and found there
  std::uint64_t l2_store_sectors = 0, l2_store_hits = 0;  ///< written through to the L2, and found there
  std::uint64_t dram_read_sectors = 0, dram_written_sectors = 0;
  double l1_hit_rate() const;  ///< 0 to 1; 0 if nothing was asked
  double l2_hit_rate() const;  ///< of loads
  double dram_bytes() const { return 32.0 * static_cast<double>(dram_read_sectors + dram_written_sectors); }
  CacheCounts& operator+=(const CacheCounts& other);
};

/// The global-memory requests of one block, in order: what the caches are given to work on. One entry is one 128-byte
/// line and the sectors of it that a warp asks for.
class RequestStream {
 public:
  /// `line`: address / 128, below 2^56; `sectors`: bit i for the line's i-th sector. Entries of one request follow each
  /// other.
  void add(std::uint64_t line, unsigned sectors, bool is_store) {
    entries_.push_back(line << 5 | std::uint64_t{is_store} << 4 | sectors);
  }
  void clear() { entries_.clear(); }
  std::size_t size() const { return entries_.size(); }
  std::size_t bytes() const { return entries_.size() * sizeof(entries_[0]); }
  std::uint64_t line(std::size_t i) const { return entries_[i] >> 5; }
  unsigned sectors(std::size_t i) const { return entries_[i] & 15; }
  bool is_store(std::size_t i) const { return entries_[i] >> 4 & 1; }

 private:
  std::vector<std::uint64_t> entries_;
};

/// Blocks of the launch that an SM holds at once, by threads and shared memory alone: registers are not known without a
/// GPU's compiler, so this is what the hardware holds at most. `static_shared_bytes`: beside launch's dynamic ones.
/// Throws Error, with the reason, if the device cannot run such a block.
int resident_blocks(const Device& device, const Launch& launch, std::size_t static_shared_bytes);

/// Bytes of an SM's L1: its memory less the smallest carve-out that holds the shared memory of `blocks_per_sm` blocks.
/// The driver may carve out more than is needed (seen: up to twice for blocks of 128 to 512 threads on an H200). Throws
/// Error for devices older than compute capability 7.0, whose L1 worked differently, and for blocks that do not fit.
std::size_t l1_bytes(const Device& device, int blocks_per_sm, std::size_t shared_bytes_per_block);

/// The caches of one device during one launch. Blocks are handed over from several OS threads.
///
/// Turns make waves: with w = SMs * blocks_per_sm, the blocks of turns 0 to w - 1 are resident together, then the next
/// w, and so on; turn i of a wave is on SM i % SMs, as the hardware deals out blocks that all last equally long. A wave
/// is played when it is complete: what counts is the turn, not when a block arrives, so the counts do not depend on the
/// number of OS threads. Memory is bounded by `buffered_bytes` and a block for each OS thread: a wave of more than half
/// of that is played in several parts, cut where its blocks so far exceed it; and if more than half of it waits for a
/// block of an earlier turn, that is played without it (this cannot happen where blocks start in the order of their
/// turns).
class CacheModel {
 public:
  /// `blocks`: of the launch; `blocks_per_sm`: resident at once on a multiprocessor, at least 1;
  /// `shared_bytes_per_block`: static and dynamic, leaves that much less of the L1's memory for caching.
  /// Throws Error if the device has no cache for global memory, or for what l1_bytes throws.
  CacheModel(const Device& device, std::size_t blocks, int blocks_per_sm, std::size_t shared_bytes_per_block,
             std::size_t buffered_bytes = std::size_t{512} << 20);
  ~CacheModel();

  /// The block of this turn has ended; takes its requests. `turn`: its place in the order in which blocks are started,
  /// from 0; in the forward order that is the block's linear index. Throws Error if the turn is not in the launch or
  /// was given before.
  void add_block(std::size_t turn, RequestStream&& requests);
  /// After the last block; throws Error if one is missing. Dirty sectors left in the L2 are not written to DRAM, as on
  /// the hardware when a kernel ends.
  CacheCounts finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace rung
