/// From what the lanes of a warp did, one after the other, to what the warp asks of the memory: its requests.
///
/// Each lane writes its accesses into a row of its own, and an entry for each return to an earlier place in the code,
/// as loops have them. merge() then replays the rows as a warp would run: the lanes that stand at the earliest place in
/// the code go first, together, as one request; the others wait for them there. Since lanes wait for each other at the
/// end of a loop's body, too, each stays in the same iteration as the others. Nothing is decided before every running
/// lane's next access is known, so a row's length changes no count.
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
  /// The counts gathered so far, which it forgets.
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

  /// Forgets what is left of the last block.
  void clear();
  /// From here on, every request of global memory goes there, too; null: nowhere.
  void feed_to(RequestStream* stream) { stream_ = stream; }
  /// From here on, trace writes into the lane's row, behind what is there.
  void open(int lane);
  /// Keeps what trace has written since.
  void close(int lane);
  /// The lane waits for others at this place, after all that is in its row; it goes on when next opened.
  void stand(int lane, std::uintptr_t position) { stands_at_[lane] = (position << AccessKind::kBits) | kAfterAll; }
  /// Replays what is certain, given the warp's threads and those of them that have not told yet what comes after their
  /// rows. Returns whether it came any further.
  bool merge(std::uint32_t threads, std::uint32_t unfinished, SiteTable& sites);
  /// The same if lanes that stand somewhere and wait are not waited for.
  bool merge_past_standing(std::uint32_t threads, std::uint32_t unfinished, SiteTable& sites);
  /// Whether it pays to let the lane run on.
  bool has_room(int lane) const { return rows_[lane].tail - rows_[lane].head <= kCapacity / 2; }

 private:
  static constexpr int kCapacity = 256;  // accesses of a lane: rows of all lanes fit the second-level cache
  static constexpr int kBlock = 16;      // accesses counted at once
  static constexpr std::uint64_t kNowhere = ~std::uint64_t{0};
  static constexpr std::uint64_t kAfterAll = (1 << AccessKind::kBits) - 1;  // of a place in the code

  struct Row {
    int head = 0, tail = 0;
    // A block may be read past the last access: there is room for that, and the values are not used.
    alignas(64) std::uint64_t keys[kCapacity + kBlock] = {};
    alignas(64) std::int32_t words[kCapacity + kBlock] = {};
  };
  /// Lanes that stand at the same access, the earliest of all.
  struct Group {
    int lanes[kWarpSize];
    int size = 0;
    std::uint64_t next = kNowhere;  ///< where the first of the waiting lanes stands
  };
  struct Block;

  bool earliest(std::uint32_t unfinished, Group& group) const;
  int common_steps(const Group& group, int most) const;
  void count(const Group& group, int steps, int threads, SiteTable& sites) const;
  void feed(const Group& group, int step, bool is_store) const;
  std::uint64_t transactions(const Group& group, int step, const Block& block, int i, std::uint64_t kind) const;
  std::uint64_t distinct_words(const Group& group, int step) const;
  std::uint64_t distinct_sectors(const Group& group, int step) const;
  std::uint64_t wavefronts(const Group& group, int step, int words_per_lane, bool is_store) const;
  static bool are_paired(const Group& group, const std::int32_t* words, int bit);

  std::unique_ptr<Row[]> rows_;
  std::uint64_t stands_at_[kWarpSize];
  RequestStream* stream_ = nullptr;
  int window_ = kBlock;
};

}  // namespace rung
