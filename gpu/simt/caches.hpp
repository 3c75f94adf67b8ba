/// A model of a GPU's caches, fed with the requests that the emulator counts: one L1 for each multiprocessor, one L2, and
/// the bytes that pass on to DRAM. It has no clock: blocks that are resident together take turns, request by request.
#pragma once

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
  std::uint64_t l2_store_sectors = 0, l2_store_hits = 0;  ///< written through to the L2
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
  /// `sectors`: bit i for the line's i-th sector. Entries of one request follow each other.
  void add(std::uint64_t line, unsigned sectors, bool is_store) {
    entries_.push_back(line << 5 | std::uint64_t{is_store} << 4 | sectors);
  }
  void clear() { entries_.clear(); }
  std::size_t size() const { return entries_.size(); }
  std::uint64_t line(std::size_t i) const { return entries_[i] >> 5; }
  unsigned sectors(std::size_t i) const { return entries_[i] & 15; }
  bool is_store(std::size_t i) const { return entries_[i] >> 4 & 1; }

 private:
  std::vector<std::uint64_t> entries_;
};

/// The caches of one device during one launch. Blocks are handed over in any order, from several OS threads.
class CacheModel {
 public:
  /// `blocks`: of the launch; `blocks_per_sm`: resident at once on a multiprocessor, at least 1;
  /// `shared_bytes_per_block`: leaves that much less of the L1's memory for caching.
  /// Throws Error if the device has no cache for global memory (devices older than compute capability 7.0 are refused
  /// too: their L1 worked differently).
  CacheModel(const Device& device, std::size_t blocks, int blocks_per_sm, std::size_t shared_bytes_per_block);
  ~CacheModel();

  /// Block `position` (its linear index) has ended; takes its requests.
  void add_block(std::size_t position, RequestStream&& requests);
  /// After the last block. Dirty sectors left in the L2 are not written to DRAM, as on the hardware when a kernel ends.
  CacheCounts finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace rung
