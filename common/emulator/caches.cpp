#include "common/emulator/caches.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "common/model/occupancy.hpp"

namespace rung {
namespace {

constexpr std::size_t kLineBytes = 128, kKiB = 1024;
constexpr std::size_t kWays = 16;
constexpr std::size_t kAhead = 6;  // turns between the host's fetch of a set and its use

unsigned count(unsigned sectors) { return static_cast<unsigned>(std::popcount(sectors)); }

/// The sectors' aligned pairs: what an L2 fetches from DRAM, 64 bytes.
unsigned pairs(unsigned sectors) { return sectors | (sectors & 5) << 1 | (sectors & 10) >> 1; }

double rate(std::uint64_t hits, std::uint64_t asked) {
  return asked == 0 ? 0.0 : static_cast<double>(hits) / static_cast<double>(asked);
}

/// One line in a cache: its number above a bit for each sector that is there, above one for each that DRAM lacks. All
/// zero is an empty way; it is as good as line 0 with no sectors.
class Line {
 public:
  Line() = default;
  explicit Line(std::uint64_t number) : bits_(number << 8) {}
  std::uint64_t number() const { return bits_ >> 8; }
  unsigned present() const { return bits_ >> 4 & 15; }
  unsigned dirty() const { return bits_ & 15; }
  void fill(unsigned sectors) { bits_ |= sectors << 4; }
  void soil(unsigned sectors) { bits_ |= sectors << 4 | sectors; }
  void clean() { bits_ &= ~std::uint64_t{15}; }

 private:
  std::uint64_t bits_ = 0;
};

/// Lines in sets of kWays, each set in the order of last use.
class Cache {
 public:
  using Set = Line*;  ///< kWays lines, the most recently used first

  explicit Cache(std::size_t bytes) : sets_(bytes / kLineBytes / kWays), lines_(sets_ * kWays) {}

  /// Has the host fetch what use() will look at.
  void prefetch(std::uint64_t number) const {
    const Line* set = &lines_[index(number) * kWays];
    __builtin_prefetch(set, 1);
    __builtin_prefetch(set + kWays / 2, 1);
  }

  /// The line's set, in which the line is now the first; `evicted` had to leave for it.
  Set use(std::uint64_t number, Line& evicted) {
    const Set set = &lines_[index(number) * kWays];
    Line moved(number);
    for (std::size_t way = 0; way < kWays; ++way) {
      std::swap(moved, set[way]);
      if (moved.number() != number) continue;
      set[0] = moved;
      return set;
    }
    evicted = moved;
    return set;
  }

 private:
  /// Neighbours go to different sets, so that any run of lines as long as the cache fits; each run of `sets_` lines is
  /// turned against the one before, so that a column of a matrix does not end up in a few sets.
  std::size_t index(std::uint64_t number) const {
    const std::uint64_t run = number / sets_;
    const std::uint64_t turned = (run * 0x9E3779B1 & 0xFFFFFFFF) * sets_ >> 32;  // below sets_
    const std::uint64_t set = number - run * sets_ + turned;
    return set < sets_ ? set : set - sets_;
  }

  std::size_t sets_;
  std::vector<Line> lines_;
};

bool has_two_halves(const Device& device) { return device.minor == 0 && device.major >= 8 && device.major <= 10; }

/// The L2 and what passes between it and DRAM. `side`: of the multiprocessor that asks, 0 or 1.
class SecondLevel {
 public:
  SecondLevel(const Device& device, CacheCounts& counts)
      : halves_(has_two_halves(device) ? 2 : 1, Cache(device.l2_bytes / (has_two_halves(device) ? 2 : 1))),
        counts_(counts) {}

  void prefetch(std::uint64_t number) const {
    for (const Cache& half : halves_) half.prefetch(number);
  }

  void load(unsigned side, std::uint64_t number, unsigned sectors) {
    side %= halves_.size();
    Line& line = *use(side, number);
    const unsigned missing = sectors & ~line.present();
    counts_.l2_load_sectors += count(sectors);
    counts_.l2_load_hits += count(sectors & ~missing);
    if (missing == 0) return;
    const unsigned fetched = pairs(missing) & ~line.present();
    line.fill(fetched);
    if (const unsigned home = home_of(number); home == side)
      counts_.dram_read_sectors += count(fetched);
    else
      load_home(home, number, fetched);
  }

  void store(std::uint64_t number, unsigned sectors) {
    const Cache::Set set = use(home_of(number), number);
    const bool was_clean = set[0].dirty() == 0;
    counts_.l2_store_sectors += count(sectors);
    counts_.l2_store_hits += count(sectors & set[0].present());
    set[0].soil(sectors);
    if (was_clean) limit_dirty(set);
  }

 private:
  Cache::Set use(unsigned half, std::uint64_t number) {
    Line evicted;
    const Cache::Set set = halves_[half].use(number, evicted);
    counts_.dram_written_sectors += count(evicted.dirty());
    return set;
  }

  /// For a copy in the other half.
  void load_home(unsigned home, std::uint64_t number, unsigned sectors) {
    Line& line = *use(home, number);
    counts_.dram_read_sectors += count(sectors & ~line.present());
    line.fill(sectors);
  }

  void limit_dirty(Cache::Set set) {
    const auto is_dirty = [](const Line& line) { return line.dirty() != 0; };
    if (std::count_if(set, set + kWays, is_dirty) <= static_cast<std::ptrdiff_t>(kWays / 2)) return;
    Line* oldest = set + kWays - 1;
    while (!is_dirty(*oldest)) --oldest;
    counts_.dram_written_sectors += count(oldest->dirty());
    oldest->clean();
  }

  /// Neighbouring lines alternate, up to a pattern that no stride can fit.
  unsigned home_of(std::uint64_t number) const {
    return halves_.size() == 1 ? 0 : static_cast<unsigned>(std::popcount(number)) & 1;
  }

  std::vector<Cache> halves_;
  CacheCounts& counts_;
};

void require_caches(const Device& device) {
  const std::string name(device.name);
  if (device.l2_bytes == 0) throw Error(name + " has no cache for global memory");
  if (device.major < 7)
    throw Error("the caches of " + name + " are not modelled: compute capability 7.0 is the oldest");
}

}  // namespace

double CacheCounts::l1_hit_rate() const { return rate(l1_load_hits, l1_load_sectors); }
double CacheCounts::l2_hit_rate() const { return rate(l2_load_hits, l2_load_sectors); }

CacheCounts& CacheCounts::operator+=(const CacheCounts& other) {
  l1_load_sectors += other.l1_load_sectors;
  l1_load_hits += other.l1_load_hits;
  l2_load_sectors += other.l2_load_sectors;
  l2_load_hits += other.l2_load_hits;
  l2_store_sectors += other.l2_store_sectors;
  l2_store_hits += other.l2_store_hits;
  dram_read_sectors += other.dram_read_sectors;
  dram_written_sectors += other.dram_written_sectors;
  return *this;
}

int resident_blocks(const Device& device, const Launch& launch, std::size_t static_shared_bytes) {
  const Occupancy resident =
      occupancy(sm_limits(device.major, device.minor),
                {.threads = static_cast<std::int64_t>(launch.block.count()),
                 .shared_bytes = static_cast<std::int64_t>(static_shared_bytes + launch.dynamic_shared_bytes)});
  if (!resident.runs()) throw Error(std::string(device.name) + " cannot run this launch: " + resident.reason);
  return resident.blocks_per_sm;
}

std::size_t l1_bytes(const Device& device, int blocks_per_sm, std::size_t shared_bytes_per_block) {
  require_caches(device);
  if (blocks_per_sm < 1) throw Error("the cache model needs at least one resident block");
  const SmLimits sm = sm_limits(device.major, device.minor);
  const std::size_t largest = static_cast<std::size_t>(sm.shared_per_sm);
  // One thread: only shared memory is of interest. The reserved bytes and the rounding are occupancy's.
  const Occupancy block =
      occupancy(sm, {.threads = 1, .shared_bytes = static_cast<std::int64_t>(shared_bytes_per_block)});
  const std::size_t needed = static_cast<std::size_t>(block.shared_per_block) * static_cast<std::size_t>(blocks_per_sm);
  if (needed > largest)
    throw Error(std::to_string(blocks_per_sm) + " blocks with " + std::to_string(shared_bytes_per_block) +
                " B of shared memory do not fit an SM of " + std::string(device.name));
  // The sizes that shared memory can have are the same on all devices, up to the device's largest; Turing has 32
  // and 64.
  std::size_t carved = device.major == 7 && device.minor == 5 ? 32 * kKiB : 0;
  for (const std::size_t size : {8, 16, 32, 64, 100, 132, 164, 196, 228})
    if (carved < needed) carved = std::min(size * kKiB, largest);
  // The memory that the two share: 128 KiB on 7.0, 8.6, 8.9 and 12.0, 96 on 7.5, 192 on 8.0, 256 on 9.0 and 10.0. That
  // is the largest carve-out and at least 28 KiB, up to a multiple of 32 KiB.
  constexpr std::size_t kUnit = 32 * kKiB;
  return (largest / kUnit + 1) * kUnit - carved;
}

struct CacheModel::State {
  /// A resident block: what it has left to ask.
  struct Resident {
    std::size_t sm;
    RequestStream requests;
    std::size_t next = 0;
  };

  State(const Device& device, std::size_t launched, int blocks_per_sm, std::size_t l1, std::size_t buffered_bytes)
      : blocks(launched),
        part_bytes(buffered_bytes / 2),
        per_wave(static_cast<std::size_t>(device.sm_count) * static_cast<std::size_t>(blocks_per_sm)),
        l1s(static_cast<std::size_t>(device.sm_count), Cache(l1)),
        l2(device, counts) {}

  void access(std::size_t sm, std::uint64_t number, unsigned sectors, bool is_store) {
    Line evicted;  // the DRAM and the L2 have all that an L1 has
    Line& line = *l1s[sm].use(number, evicted);
    const unsigned missing = sectors & ~line.present();
    line.fill(sectors);
    if (is_store) {
      l2.store(number, sectors);
      return;
    }
    counts.l1_load_sectors += count(sectors);
    counts.l1_load_hits += count(sectors & ~missing);
    // The two SMs of a TPC are on the same side.
    if (missing != 0) l2.load(sm / 2 % 2, number, missing);
  }

  void prefetch(const Resident& block) const {
    const std::uint64_t number = block.requests.line(block.next);
    l1s[block.sm].prefetch(number);
    l2.prefetch(number);
  }

  void reside(std::size_t turn, RequestStream&& requests) {
    bytes += requests.bytes();
    if (requests.size() > 0) wave.push_back({turn % l1s.size(), std::move(requests)});
  }

  /// Lets the resident blocks take turns until none of them has anything left to ask.
  void play() {
    while (!wave.empty()) {
      bool some_ended = false;
      for (std::size_t turn = 0; turn < wave.size(); ++turn) {
        if (turn + kAhead < wave.size()) prefetch(wave[turn + kAhead]);
        Resident& block = wave[turn];
        const RequestStream& requests = block.requests;
        const std::size_t i = block.next++;
        access(block.sm, requests.line(i), requests.sectors(i), requests.is_store(i));
        some_ended |= block.next == requests.size();
      }
      if (some_ended) std::erase_if(wave, [](const Resident& block) { return block.next == block.requests.size(); });
    }
    bytes = 0;
  }

  /// Takes what has its turn now.
  void advance() {
    for (auto first = waiting.begin(); first != waiting.end() && first->first == next; first = waiting.begin()) {
      const std::size_t turn = next++;
      waiting_bytes -= first->second.bytes();
      reside(turn, std::move(first->second));
      waiting.erase(first);
      while (played_early.erase(next) > 0) ++next;
      if (next == blocks || next / per_wave != turn / per_wave || bytes > part_bytes) play();
    }
  }

  /// Plays the blocks that wait, without those before them.
  void play_early() {
    play();
    for (auto& [turn, requests] : waiting) {
      reside(turn, std::move(requests));
      played_early.insert(turn);
      if (wave.size() == per_wave) play();
    }
    play();
    waiting.clear();
    waiting_bytes = 0;
  }

  bool was_given(std::size_t turn) const {
    return turn < next || waiting.contains(turn) || played_early.contains(turn);
  }

  std::mutex mutex;
  CacheCounts counts;
  std::size_t blocks, part_bytes, per_wave;
  std::vector<Cache> l1s;
  SecondLevel l2;

  std::size_t next = 0;  ///< the first turn that has not been given
  std::vector<Resident> wave;
  std::size_t bytes = 0;  ///< of the requests in `wave`
  std::map<std::size_t, RequestStream> waiting;
  std::size_t waiting_bytes = 0;
  std::set<std::size_t> played_early;
};

CacheModel::CacheModel(const Device& device, std::size_t blocks, int blocks_per_sm, std::size_t shared_bytes_per_block,
                       std::size_t buffered_bytes) {
  const std::size_t l1 = l1_bytes(device, blocks_per_sm, shared_bytes_per_block);
  if (device.sm_count < 1 || device.l2_bytes < 2 * kWays * kLineBytes)
    throw Error(std::string(device.name) + " has no multiprocessors or too small an L2 for the cache model");
  state_ = std::make_unique<State>(device, blocks, blocks_per_sm, l1, buffered_bytes);
}

CacheModel::~CacheModel() = default;

void CacheModel::add_block(std::size_t turn, RequestStream&& requests) {
  const std::lock_guard lock(state_->mutex);
  if (turn >= state_->blocks || state_->was_given(turn))
    throw Error("the cache model was given block " + std::to_string(turn) + " of " + std::to_string(state_->blocks) +
                (turn >= state_->blocks ? "" : " twice"));
  state_->waiting_bytes += requests.bytes();
  state_->waiting.emplace(turn, std::move(requests));
  state_->advance();
  if (state_->waiting_bytes > state_->part_bytes) state_->play_early();
}

CacheCounts CacheModel::finish() {
  const std::lock_guard lock(state_->mutex);
  if (state_->next != state_->blocks)
    throw Error("the cache model lacks block " + std::to_string(state_->next) + " of " +
                std::to_string(state_->blocks));
  return state_->counts;
}

}  // namespace rung
