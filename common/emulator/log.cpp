#include "common/emulator/log.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "common/emulator/half_warps.hpp"

namespace rung {
namespace {

constexpr int kWordsPerSectorShift = 3;
constexpr int kBanks = 32;
constexpr int kSectorsPerLine = 4;

/// A set of at most 128 words: enough for the widest request, 32 lanes of 16 bytes.
class WordSet {
 public:
  WordSet() { std::fill(std::begin(slots_), std::end(slots_), kNone); }
  /// Whether `word` is new.
  bool insert(std::int32_t word) {
    for (std::uint32_t i = static_cast<std::uint32_t>(word) * 0x9E3779B1u >> 24;; ++i) {
      std::int32_t& slot = slots_[i % kSlots];
      if (slot == word) return false;
      if (slot == kNone) {
        slot = word;
        return true;
      }
    }
  }

 private:
  static constexpr int kSlots = 256;
  static constexpr std::int32_t kNone = -1;  // words have 31 bits
  std::int32_t slots_[kSlots];
};

/// The most distinct words in one bank, for lanes that each access `words_per_lane` words from the given one on.
int busiest_bank(std::span<const std::int32_t> firsts, int words_per_lane) {
  const auto [low, high] = std::minmax_element(firsts.begin(), firsts.end());
  if (*high + words_per_lane - *low <= kBanks) return 1;
  WordSet seen;
  std::uint8_t used[kBanks] = {};
  int busiest = 0;
  for (const std::int32_t first : firsts)
    for (std::int32_t word = first; word < first + words_per_lane; ++word)
      if (seen.insert(word)) busiest = std::max<int>(busiest, ++used[word % kBanks]);
  return busiest;
}

}  // namespace

std::vector<SiteCounts> SiteTable::take() {
  std::vector<SiteCounts> all;
  for (const Slot& slot : slots_)
    if (slot.key != 0) all.push_back(slot.counts);
  slots_.assign(kFirstSlots, {});
  used_ = 0;
  return all;
}

SiteCounts& SiteTable::add(std::uint64_t key) {
  if (2 * ++used_ > slots_.size()) {
    std::vector<Slot> old(2 * slots_.size());
    old.swap(slots_);
    for (const Slot& slot : old)
      if (slot.key != 0) {
        std::size_t i = hash(slot.key);
        while (slots_[i & (slots_.size() - 1)].key != 0) ++i;
        slots_[i & (slots_.size() - 1)] = slot;
      }
  }
  std::size_t i = hash(key);
  while (slots_[i & (slots_.size() - 1)].key != 0) ++i;
  Slot& slot = slots_[i & (slots_.size() - 1)];
  slot.key = key;
  slot.counts.address = key >> AccessKind::kBits;
  slot.counts.bytes = 1u << (key & AccessKind::kSizeMask);
  slot.counts.is_store = (key & AccessKind::kStore) != 0;
  slot.counts.is_shared = (key & AccessKind::kShared) != 0;
  slot.counts.is_atomic = (key & AccessKind::kAtomic) != 0;
  slot.counts.is_constant = (key & AccessKind::kConstant) != 0;
  slot.counts.is_async = (key & AccessKind::kAsync) != 0;
  return slot.counts;
}

WarpLog::WarpLog() : rows_(std::make_unique<Row[]>(kWarpSize)) {}

void WarpLog::clear() {
  for (int lane = 0; lane < kWarpSize; ++lane) rows_[lane].head = rows_[lane].tail = 0;
  std::fill(std::begin(waits_at_), std::end(waits_at_), kNowhere);
}

void WarpLog::open(int lane) {
  Row& row = rows_[lane];
  if (row.head > 0) {
    std::copy(row.keys + row.head, row.keys + row.tail, row.keys);
    std::copy(row.words + row.head, row.words + row.tail, row.words);
    row.tail -= std::exchange(row.head, 0);
  }
  waits_at_[lane] = kNowhere;
  trace.key = row.keys + row.tail;
  trace.word = row.words + row.tail;
  trace.full = row.keys + kCapacity;
}

void WarpLog::close(int lane) { rows_[lane].tail = static_cast<int>(trace.key - rows_[lane].keys); }

bool WarpLog::merge(std::uint32_t threads, std::uint32_t unfinished, SiteTable& sites) {
  Group group;
  bool moved = false;
  while (earliest(unfinished, group)) {
    const int steps = common_steps(group, window_);
    count(group, steps, std::popcount(threads), sites);
    for (int i = 0; i < group.size; ++i) rows_[group.lanes[i]].head += steps;
    // Convergent lanes are compared over long windows, divergent ones over short windows.
    window_ = steps == window_ ? std::min(2 * window_, kCapacity) : std::max(window_ / 2, 4);
    moved = true;
  }
  return moved;
}

bool WarpLog::merge_past_waiting(std::uint32_t threads, std::uint32_t unfinished, SiteTable& sites) {
  std::uint64_t saved[kWarpSize];
  std::copy(std::begin(waits_at_), std::end(waits_at_), saved);
  std::fill(std::begin(waits_at_), std::end(waits_at_), kNowhere);
  const bool moved = merge(threads, unfinished, sites);
  std::copy(std::begin(saved), std::end(saved), waits_at_);
  return moved;
}

/// Finds the lanes that are next; false if there are none, or if an unfinished lane could be among them.
bool WarpLog::earliest(std::uint32_t unfinished, Group& group) const {
  std::uint64_t least = kNowhere;
  group.size = 0;
  group.next = kNowhere;
  for (int lane = 0; lane < kWarpSize; ++lane) {
    const Row& row = rows_[lane];
    if (row.head == row.tail) {
      if (unfinished >> lane & 1) return false;
      group.next = std::min(group.next, waits_at_[lane]);
      continue;
    }
    const std::uint64_t key = row.keys[row.head];
    if (key < least) {
      group.next = std::min(group.next, least);
      group.size = 0;
      least = key;
    }
    if (key == least)
      group.lanes[group.size++] = lane;
    else
      group.next = std::min(group.next, key);
  }
  return group.size > 0 && least < group.next;
}

/// The number of accesses, at most `most`, for which the group stays convergent and before the waiting lanes.
int WarpLog::common_steps(const Group& group, int most) const {
  const Row& first = rows_[group.lanes[0]];
  const std::uint64_t* keys = first.keys + first.head;
  int steps = std::min(most, first.tail - first.head);
  if (group.next != kNowhere)
    steps = static_cast<int>(std::find_if(keys, keys + steps, [&](auto key) { return key >= group.next; }) - keys);
  for (int i = 1; i < group.size; ++i) {
    const Row& row = rows_[group.lanes[i]];
    const std::uint64_t* others = row.keys + row.head;
    steps = std::min(steps, row.tail - row.head);
    if (std::memcmp(keys, others, steps * sizeof *keys) != 0)
      steps = static_cast<int>(std::mismatch(keys, keys + steps, others).first - keys);
  }
  return steps;
}

/// Statistics of kBlock requests at once, from one pass over the lanes; the loops are vectorised.
struct WarpLog::Block {
  alignas(64) std::int32_t low[kBlock], high[kBlock], sector[kBlock];
  alignas(64) std::int32_t changes[kBlock];   ///< lanes whose sector differs from that of the previous lane
  alignas(64) std::int32_t descents[kBlock];  ///< of these, where it is lower; if none, `changes` counts the sectors

  void first(const std::int32_t* words) {
    for (int i = 0; i < kBlock; ++i) {
      low[i] = high[i] = words[i];
      sector[i] = words[i] >> kWordsPerSectorShift;
      changes[i] = 1;
      descents[i] = 0;
    }
  }
  void next(const std::int32_t* words) {
    for (int i = 0; i < kBlock; ++i) {
      const std::int32_t word = words[i];
      const std::int32_t own = word >> kWordsPerSectorShift;
      low[i] = word < low[i] ? word : low[i];
      high[i] = word > high[i] ? word : high[i];
      changes[i] += own != sector[i];
      descents[i] += own < sector[i];
      sector[i] = own;
    }
  }
};

void WarpLog::count(const Group& group, int steps, int threads, SiteTable& sites) const {
  const Row& first = rows_[group.lanes[0]];
  Block block;
  for (int offset = 0; offset < steps; offset += kBlock) {
    block.first(first.words + first.head + offset);
    for (int lane = 1; lane < group.size; ++lane) {
      const Row& row = rows_[group.lanes[lane]];
      block.next(row.words + row.head + offset);
    }
    for (int i = 0; i < std::min(kBlock, steps - offset); ++i) {
      const std::uint64_t key = first.keys[first.head + offset + i];
      if (key & AccessKind::kLoop) continue;
      SiteCounts& site = sites.at(key);
      ++site.requests;
      site.accesses += group.size;
      site.divergent += group.size != threads;
      site.transactions += transactions(group, offset + i, block, i, key);
      if (stream_ && site.is_global()) feed(group, offset + i, key);
    }
  }
}

std::uint64_t WarpLog::transactions(const Group& group, int step, const Block& block, int i, std::uint64_t kind) const {
  if (kind & AccessKind::kConstant) return distinct_words(group, step);
  if (!(kind & AccessKind::kShared)) {
    if (kind & AccessKind::kAsync) return copied_sectors(group, step, 1 << (kind & AccessKind::kSizeMask));
    return block.descents[i] == 0 ? block.changes[i] : distinct_sectors(group, step, 0, group.size);
  }
  const int words_per_lane = std::max(1, (1 << (kind & AccessKind::kSizeMask)) / 4);
  if (words_per_lane == 1 && block.high[i] - block.low[i] < kBanks) return 1;
  return wavefronts(group, step, words_per_lane, (kind & AccessKind::kStore) != 0);
}

/// Adds the lines and sectors of a request to the stream for the cache model.
void WarpLog::feed(const Group& group, int step, std::uint64_t kind) const {
  const bool is_store = (kind & AccessKind::kStore) != 0, is_past_l1 = (kind & AccessKind::kPastL1) != 0;
  if (makes_half_warps(*device_)) {
    HalfWarps lanes;
    for (int i = 0; i < group.size; ++i) {
      const Row& row = rows_[group.lanes[i]];
      lanes.set(group.lanes[i], row.words[row.head + step]);
    }
    return lanes.add_to(*stream_, 1 << (kind & AccessKind::kSizeMask), is_store, *device_);
  }
  std::int32_t sectors[kWarpSize];
  for (int i = 0; i < group.size; ++i) {
    const Row& row = rows_[group.lanes[i]];
    sectors[i] = row.words[row.head + step] >> kWordsPerSectorShift;
  }
  std::sort(sectors, sectors + group.size);
  for (int i = 0; i < group.size;) {
    const std::int32_t line = sectors[i] / kSectorsPerLine;
    unsigned mask = 0;
    for (; i < group.size && sectors[i] / kSectorsPerLine == line; ++i) mask |= 1u << sectors[i] % kSectorsPerLine;
    stream_->add(line, mask, is_store, is_past_l1);
  }
}

/// Constant memory serves one word per pass, to any number of lanes.
std::uint64_t WarpLog::distinct_words(const Group& group, int step) const {
  std::int32_t words[kWarpSize];
  for (int i = 0; i < group.size; ++i) {
    const Row& row = rows_[group.lanes[i]];
    words[i] = row.words[row.head + step];
  }
  std::sort(words, words + group.size);
  return std::unique(words, words + group.size) - words;
}

/// Of the lanes first to last - 1 of the group.
std::uint64_t WarpLog::distinct_sectors(const Group& group, int step, int first, int last) const {
  std::int32_t sectors[kWarpSize];
  std::int32_t least = INT32_MAX, most = 0;
  for (int i = first; i < last; ++i) {
    const Row& row = rows_[group.lanes[i]];
    sectors[i] = row.words[row.head + step] >> kWordsPerSectorShift;
    least = std::min(least, sectors[i]);
    most = std::max(most, sectors[i]);
  }
  if (most - least < 64) {
    std::uint64_t seen = 0;
    for (int i = first; i < last; ++i) seen |= std::uint64_t{1} << (sectors[i] - least);
    return std::popcount(seen);
  }
  std::sort(sectors + first, sectors + last);
  return std::unique(sectors + first, sectors + last) - (sectors + first);
}

/// Sectors that an asynchronous copy loads. The hardware looks up 128 bytes at a time, so 8 lanes of 16 bytes each, and
/// a sector that two such parts touch twice. Loads into registers are looked up as a whole. Agrees with the hardware
/// counters of an H200 for copies of 4 and 16 bytes; none of 8 were counted.
std::uint64_t WarpLog::copied_sectors(const Group& group, int step, int bytes) const {
  const int lanes_per_part = 128 / bytes;
  std::uint64_t sectors = 0;
  for (int i = 0; i < group.size;) {
    const int first = i, part = group.lanes[i] / lanes_per_part;
    while (i < group.size && group.lanes[i] / lanes_per_part == part) ++i;
    sectors += distinct_sectors(group, step, first, i);
  }
  return sectors;
}

/// Wavefronts of a request, i.e. passes over the 32 banks of 4 bytes: a pass serves one word of each bank, to any
/// number of lanes. Accesses of 8 and 16 bytes are served by halves and quarters of the warp; the parts of a load are
/// served two at a time if every lane reads the same address as lane i ^ 1, or every lane the same as lane i ^ 2.
/// Agrees with the hardware counters of an H200 for patterns of loads and stores of 4, 8 and 16 bytes.
std::uint64_t WarpLog::wavefronts(const Group& group, int step, int words_per_lane, bool is_store) const {
  std::int32_t words[kWarpSize];
  for (int i = 0; i < group.size; ++i) {
    const Row& row = rows_[group.lanes[i]];
    words[i] = row.words[row.head + step];
  }
  const bool in_pairs = words_per_lane > 1 && !is_store && (are_paired(group, words, 1) || are_paired(group, words, 2));
  const int lanes_per_part = kWarpSize / words_per_lane * (in_pairs ? 2 : 1);
  std::uint64_t passes = 0;
  for (int i = 0; i < group.size;) {
    const int first = i, part = group.lanes[i] / lanes_per_part;
    while (i < group.size && group.lanes[i] / lanes_per_part == part) ++i;
    passes += busiest_bank({words + first, words + i}, words_per_lane);
  }
  return passes;
}

/// Whether each lane of the group has the same word as the lane whose number differs in this bit, if that is active.
bool WarpLog::are_paired(const Group& group, const std::int32_t* words, int bit) {
  std::int32_t by_lane[kWarpSize];
  std::uint32_t active = 0;
  for (int i = 0; i < group.size; ++i) {
    by_lane[group.lanes[i]] = words[i];
    active |= 1u << group.lanes[i];
  }
  for (int i = 0; i < group.size; ++i) {
    const int other = group.lanes[i] ^ bit;
    if (active >> other & 1 && by_lane[other] != words[i]) return false;
  }
  return true;
}

}  // namespace rung
