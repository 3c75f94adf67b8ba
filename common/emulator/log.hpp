/// Turns the accesses of the lanes of a warp, which run one after the other, into the memory requests of the warp.
///
/// Each lane writes its accesses to a row of its own, with an entry for each backward branch. merge() then replays the
/// rows in lockstep, lowest program counter first: the lanes that are at the earliest place in the code proceed
/// together, as one request, and reconverge with the others there. Since lanes also wait for each other at backward
/// branches, all stay in the same iteration of a loop. A request is formed only when the next access of every running
/// lane is known, so the capacity of a row changes no count.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "common/emulator/trace.hpp"

namespace rung {

constexpr int kWarpSize = 32;

/// The counts of each access in the code, by its key.
class SiteTable {
 public:
  SiteTable() : slots_(kFirstSlots) {}

  RUNG_INLINE SiteCounts& at(std::uint64_t key) {
    for (std::size_t i = hash(key);; ++i) {
      Slot& slot = slots_[i & (slots_.size() - 1)];
      if (slot.key == key) return slot.counts;
      if (slot.key == 0) return add(key);
    }
  }
  /// The counts since the last call.
  std::vector<SiteCounts> take();

 private:
  struct Slot {
    std::uint64_t key = 0;
    SiteCounts counts;
  };
  static constexpr std::size_t kFirstSlots = 64;  // a power of two

  static std::size_t hash(std::uint64_t key) { return key * 0x9E3779B97F4A7C15ull >> 40; }
  SiteCounts& add(std::uint64_t key);

  std::vector<Slot> slots_;
  std::size_t used_ = 0;
};

class WarpLog {
 public:
  WarpLog();

  /// Drops what is left of the previous block.
  void clear();
  /// From now on, every request to global memory is also added there, as this device makes it; null: nowhere.
  void feed_to(RequestStream* stream, const Device* device) {
    stream_ = stream;
    device_ = device;
  }
  /// From now on, trace appends to the lane's row.
  void open(int lane);
  /// Ends the row where trace has stopped.
  void close(int lane);
  /// The lane waits at this place for others, after the accesses in its row, until its row is opened again.
  void wait_at(int lane, std::uintptr_t position) { waits_at_[lane] = (position << AccessKind::kBits) | kAfterAll; }
  /// Replays as far as is certain. `threads`: the lanes of the warp; `unfinished`: those whose next access after their
  /// row is not known yet. Returns whether any access was replayed.
  bool merge(std::uint32_t threads, std::uint32_t unfinished, SiteTable& sites);
  /// The same without reconverging with lanes that wait.
  bool merge_past_waiting(std::uint32_t threads, std::uint32_t unfinished, SiteTable& sites);
  /// Whether lanes with a full row should wait once more for those whose next access is not known yet.
  bool has_patience() { return ++times_waited_ < kPatience; }
  void renew_patience() { times_waited_ = 0; }
  /// Whether the row has enough room to continue the lane.
  bool has_room(int lane) const { return rows_[lane].tail - rows_[lane].head <= kCapacity / 2; }

 private:
  static constexpr int kCapacity = 256;  // accesses of a lane: the rows of all lanes fit the L2 cache
  static constexpr int kBlock = 16;      // accesses counted at once
  static constexpr int kPatience = 64;
  static constexpr std::uint64_t kNowhere = ~std::uint64_t{0};
  static constexpr std::uint64_t kAfterAll = (1 << AccessKind::kBits) - 1;  // greater than any access at the same place

  struct Row {
    int head = 0, tail = 0;
    // Padded, since whole blocks are read; the values past the last access are not used.
    alignas(64) std::uint64_t keys[kCapacity + kBlock] = {};
    alignas(64) std::int32_t words[kCapacity + kBlock] = {};
  };
  /// The lanes at the earliest access of all.
  struct Group {
    int lanes[kWarpSize];
    int size = 0;
    std::uint64_t next = kNowhere;  ///< the earliest place of the other lanes
  };
  struct Block;
  struct Request;

  bool earliest(std::uint32_t unfinished, Group& group) const;
  int common_steps(const Group& group, int most) const;
  void count(const Group& group, int steps, int threads, SiteTable& sites) const;
  void feed(const Group& group, int step, std::uint64_t kind) const;
  std::uint64_t transactions(const Group& group, int step, const Block& block, int i, std::uint64_t kind) const;
  Request request_of(const Group& group, int step) const;

  static void add_request(SiteCounts& site, int lanes, int threads, std::uint64_t transactions);
  static void count_attempts(Request request, std::uint64_t key, int threads, SiteTable& sites);
  static std::uint64_t distinct_words(Request request);
  static std::uint64_t copied_sectors(const Request& request, int bytes);
  static std::uint64_t atomic_sectors(const Request& request);
  static std::uint64_t atomic_wavefronts(const Request& request, std::uint64_t kind);
  static std::uint64_t wavefronts(const Request& request, int words_per_lane, bool is_store);
  static bool are_paired(const Request& request, int first, int last, int bit);

  std::unique_ptr<Row[]> rows_;
  std::uint64_t waits_at_[kWarpSize];
  RequestStream* stream_ = nullptr;
  const Device* device_ = nullptr;
  int window_ = kBlock;
  int times_waited_ = 0;
};

}  // namespace rung
