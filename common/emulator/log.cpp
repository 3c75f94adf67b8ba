#include "common/emulator/log.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "common/emulator/half_warps.hpp"

namespace rung {
namespace {

constexpr int kWordsPerSectorShift = 3;
constexpr int kBanks = 32;
constexpr int kSectorsPerLine = 4;

/// Counts words, at most 128 of them: enough for the widest request, 32 lanes of 16 bytes.
class WordCounts {
 public:
  WordCounts() { std::fill(std::begin(slots_), std::end(slots_), kNone); }
  /// How often `word` has been added before.
  int add(std::int32_t word) {
    for (std::uint32_t i = static_cast<std::uint32_t>(word) * 0x9E3779B1u >> 24;; ++i) {
      std::int32_t& slot = slots_[i % kSlots];
      if (slot == word) return counts_[i % kSlots]++;
      if (slot == kNone) {
        slot = word;
        counts_[i % kSlots] = 1;
        return 0;
      }
    }
  }

 private:
  static constexpr int kSlots = 256;
  static constexpr std::int32_t kNone = -1;  // words have 31 bits
  std::int32_t slots_[kSlots];
  std::uint8_t counts_[kSlots];
};

/// The most distinct words in one bank, for lanes that each access `words_per_lane` words from the given one on.
int busiest_bank(std::span<const std::int32_t> firsts, int words_per_lane) {
  const auto [low, high] = std::minmax_element(firsts.begin(), firsts.end());
  if (*high + words_per_lane - *low <= kBanks) return 1;
  WordCounts seen;
  std::uint8_t used[kBanks] = {};
  int busiest = 0;
  for (const std::int32_t first : firsts)
    for (std::int32_t word = first; word < first + words_per_lane; ++word)
      if (seen.add(word) == 0) busiest = std::max<int>(busiest, ++used[word % kBanks]);
  return busiest;
}

}  // namespace

/// The words that the lanes of a group request with one access.
struct WarpLog::Request {
  int lanes[kWarpSize];
  std::int32_t words[kWarpSize];
  int size = 0;

  void add(int lane, std::int32_t word) {
    lanes[size] = lane;
    words[size++] = word;
  }
  std::span<const std::int32_t> all() const { return {words, words + size}; }
  /// The end of the part of `lanes_of_part` lanes of the warp that contains lane number `next` of the request.
  int end_of_part(int next, int lanes_of_part) const { return (lanes[next] / lanes_of_part + 1) * lanes_of_part; }
  /// The lanes among these, in order, up to the first one that is not below `end`.
  std::span<const std::int32_t> part(int& next, int end) const {
    const int first = next;
    while (next < size && lanes[next] < end) ++next;
    return {words + first, words + next};
  }
};

namespace {

/// The distinct sectors of these words.
std::uint64_t distinct_sectors(std::span<const std::int32_t> words) {
  std::int32_t sectors[kWarpSize];
  std::int32_t least = INT32_MAX, most = 0;
  for (std::size_t i = 0; i < words.size(); ++i) {
    sectors[i] = words[i] >> kWordsPerSectorShift;
    least = std::min(least, sectors[i]);
    most = std::max(most, sectors[i]);
  }
  if (most - least < 64) {
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < words.size(); ++i) seen |= std::uint64_t{1} << (sectors[i] - least);
    return std::popcount(seen);
  }
  std::sort(sectors, sectors + words.size());
  return std::unique(sectors, sectors + words.size()) - sectors;
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
  renew_patience();
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
  alignas(64) std::int32_t changes[kBlock];   ///< lanes whose sector differs from the previous lane's
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
      if ((key & AccessKind::kShared) && (key & AccessKind::kHow) == AccessKind::kByAttempts) {
        count_attempts(request_of(group, offset + i), key, threads, sites);
        continue;
      }
      SiteCounts& site = sites.at(key);
      add_request(site, group.size, threads, transactions(group, offset + i, block, i, key));
      if (stream_ && site.is_global()) feed(group, offset + i, key);
    }
  }
}

void WarpLog::add_request(SiteCounts& site, int lanes, int threads, std::uint64_t transactions) {
  ++site.requests;
  site.accesses += lanes;
  site.divergent += lanes != threads;
  site.transactions += transactions;
}

WarpLog::Request WarpLog::request_of(const Group& group, int step) const {
  Request request;
  for (int i = 0; i < group.size; ++i) {
    const Row& row = rows_[group.lanes[i]];
    request.add(group.lanes[i], row.words[row.head + step]);
  }
  return request;
}

std::uint64_t WarpLog::transactions(const Group& group, int step, const Block& block, int i, std::uint64_t kind) const {
  const int bytes = 1 << (kind & AccessKind::kSizeMask);
  const bool is_shared = (kind & AccessKind::kShared) != 0, is_atomic = (kind & AccessKind::kAtomic) != 0;
  if (kind & AccessKind::kConstant) return distinct_words(request_of(group, step));
  if (is_atomic && is_shared) return atomic_wavefronts(request_of(group, step), kind);
  if (is_atomic) return atomic_sectors(request_of(group, step));
  if (!is_shared) {
    if (block.descents[i] == 0 && !(kind & AccessKind::kAsync)) return block.changes[i];
    const Request request = request_of(group, step);
    return kind & AccessKind::kAsync ? copied_sectors(request, bytes) : distinct_sectors(request.all());
  }
  const int words_per_lane = std::max(1, bytes / 4);
  if (words_per_lane == 1 && block.high[i] - block.low[i] < kBanks) return 1;
  return wavefronts(request_of(group, step), words_per_lane, (kind & AccessKind::kStore) != 0);
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
std::uint64_t WarpLog::distinct_words(Request request) {
  std::sort(request.words, request.words + request.size);
  return std::unique(request.words, request.words + request.size) - request.words;
}

/// Sectors that an asynchronous copy loads. Of copies of 16 bytes the hardware looks up 128 bytes at a time, so 8
/// lanes, and a sector that two such parts touch twice; smaller ones, and loads into registers, are looked up as a
/// whole.
std::uint64_t WarpLog::copied_sectors(const Request& request, int bytes) {
  if (bytes < 16) return distinct_sectors(request.all());
  std::uint64_t sectors = 0;
  for (int next = 0; next < request.size;)
    sectors += distinct_sectors(request.part(next, request.end_of_part(next, 8)));
  return sectors;
}

/// Sectors of an atomic in global memory. Lanes that have an address in common are served one after the other: the n-th
/// lane of each address takes part in pass n.
std::uint64_t WarpLog::atomic_sectors(const Request& request) {
  WordCounts counts;
  int passes[kWarpSize], last = 0;
  for (int i = 0; i < request.size; ++i) last = std::max(last, passes[i] = counts.add(request.words[i]));
  if (last == 0) return distinct_sectors(request.all());
  std::uint64_t sectors = 0;
  for (int pass = 0; pass <= last; ++pass) {
    Request served;
    for (int i = 0; i < request.size; ++i)
      if (passes[i] == pass) served.add(request.lanes[i], request.words[i]);
    sectors += distinct_sectors(served.all());
  }
  return sectors;
}

/// Passes of an atomic in shared memory over the banks: one for each lane of the busiest bank, two for each if they
/// compare. Half of a warp at a time, and banks of 8 bytes, if the elements have 8.
std::uint64_t WarpLog::atomic_wavefronts(const Request& request, std::uint64_t kind) {
  if ((kind & AccessKind::kHow) == AccessKind::kInOnePass) return busiest_bank(request.all(), 1);
  const int words = (kind & AccessKind::kSizeMask) == 3 ? 2 : 1;
  std::uint64_t passes = 0;
  for (int next = 0; next < request.size;) {
    std::uint8_t lanes[kBanks] = {};
    int most = 0;
    for (const std::int32_t word : request.part(next, request.end_of_part(next, kWarpSize / words)))
      most = std::max<int>(most, ++lanes[word % kBanks]);
    passes += most;
  }
  return (kind & AccessKind::kHow) == AccessKind::kCompare ? 2 * passes : passes;
}

/// An atomic that shared memory has no instruction for. In each round the lanes load the element, operate, and try to
/// replace what they have loaded. In each bank, and each half of the warp if elements have 8 bytes, only the first lane
/// does so, and it succeeds unless the other half has changed the element; all others begin again.
void WarpLog::count_attempts(Request request, std::uint64_t key, int threads, SiteTable& sites) {
  const int words = (key & AccessKind::kSizeMask) == 3 ? 2 : 1;
  constexpr std::uint64_t kOfTheAtomic =
      AccessKind::kStore | AccessKind::kAtomic | AccessKind::kHow | AccessKind::kAddition;
  std::uint64_t operations = 0;
  while (request.size > 0) {
    operations += request.size;
    add_request(sites.at(key & ~kOfTheAtomic), request.size, threads, wavefronts(request, words, false));
    WordCounts changed;
    Request left;
    std::uint64_t passes = 0;
    for (int next = 0; next < request.size; passes += 2) {
      bool is_taken[kBanks] = {};
      for (const int end = request.end_of_part(next, kWarpSize / words);
           next < request.size && request.lanes[next] < end; ++next) {
        const std::int32_t word = request.words[next];
        const bool is_first = !std::exchange(is_taken[word % kBanks], true);
        if (!is_first || changed.add(word) > 0) left.add(request.lanes[next], word);
      }
    }
    add_request(sites.at(key), request.size, threads, passes);
    request = left;
  }
  if (!(key & AccessKind::kAddition)) return;
  (words == 2 ? trace.fp64 : trace.fp32).adds += operations;
  if (trace.lines)
    count_at_place(key >> AccessKind::kBits, words == 2 ? &OperationSite::fp64 : &OperationSite::fp32,
                   &Operations::adds, operations);
}

/// Wavefronts of a request, i.e. passes over the 32 banks of 4 bytes: a pass serves one word of each bank, to any
/// number of lanes. Accesses of 8 and 16 bytes are served by halves and quarters of the warp. Two halves, or the first
/// or last two quarters, of a load are served at once where one pass is enough and, of their lanes, each reads the same
/// address as lane i ^ 1, or each the same as lane i ^ 2.
std::uint64_t WarpLog::wavefronts(const Request& request, int words_per_lane, bool is_store) {
  if (words_per_lane == 1) return busiest_bank(request.all(), 1);
  const int lanes_of_part = kWarpSize / words_per_lane;
  std::uint64_t passes = 0;
  for (int next = 0; next < request.size;) {
    const int first = next, middle = request.end_of_part(first, 2 * lanes_of_part) - lanes_of_part;
    const auto lower = request.part(next, middle);
    const auto upper = request.part(next, middle + lanes_of_part);
    const bool is_paired = are_paired(request, first, next, 1) || are_paired(request, first, next, 2);
    const std::span<const std::int32_t> both{request.words + first, request.words + next};
    if (!is_store && is_paired && busiest_bank(both, words_per_lane) == 1) {
      ++passes;
      continue;
    }
    for (const auto& part : {lower, upper})
      if (!part.empty()) passes += busiest_bank(part, words_per_lane);
  }
  return passes;
}

/// Whether each of these lanes has the same word as the lane whose number differs in this bit, if that is active.
bool WarpLog::are_paired(const Request& request, int first, int last, int bit) {
  std::int32_t by_lane[kWarpSize];
  std::uint32_t active = 0;
  for (int i = first; i < last; ++i) {
    by_lane[request.lanes[i]] = request.words[i];
    active |= 1u << request.lanes[i];
  }
  for (int i = first; i < last; ++i) {
    const int other = request.lanes[i] ^ bit;
    if (active >> other & 1 && by_lane[other] != request.words[i]) return false;
  }
  return true;
}

}  // namespace rung
