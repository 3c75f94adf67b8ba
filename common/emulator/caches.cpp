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
constexpr std::size_t kPrefetchDistance = 6;  // blocks between the host's prefetch of a set and its use

unsigned count(unsigned sectors) { return static_cast<unsigned>(std::popcount(sectors)); }

/// The aligned pairs of the sectors: the unit of 64 bytes in which an L2 fetches from DRAM.
unsigned pairs(unsigned sectors) { return sectors | (sectors & 5) << 1 | (sectors & 10) >> 1; }

double rate(std::uint64_t hits, std::uint64_t lookups) {
  return lookups == 0 ? 0.0 : static_cast<double>(hits) / static_cast<double>(lookups);
}

/// One line of a cache: from the high bits down, its number, a present bit for each sector and a dirty bit for each
/// sector. Zero is an empty way, and equivalent to line 0 without sectors.
class Line {
 public:
  Line() = default;
  explicit Line(std::uint64_t number) : bits_(number << 8) {}
  std::uint64_t number() const { return bits_ >> 8; }
  unsigned present() const { return bits_ >> 4 & 15; }
  unsigned dirty() const { return bits_ & 15; }
  void fill(unsigned sectors) { bits_ |= sectors << 4; }
  void fill_dirty(unsigned sectors) { bits_ |= sectors << 4 | sectors; }
  void clear_dirty() { bits_ &= ~std::uint64_t{15}; }

 private:
  std::uint64_t bits_ = 0;
};

/// A set-associative cache with kWays lines per set and LRU replacement.
class Cache {
 public:
  using Set = Line*;  ///< kWays lines, most recently used first

  explicit Cache(std::size_t bytes) : sets_(bytes / kLineBytes / kWays), lines_(sets_ * kWays) {}

  /// Prefetches, on the host, what use() will access.
  void prefetch(std::uint64_t number) const {
    const Line* set = &lines_[index(number) * kWays];
    __builtin_prefetch(set, 1);
    __builtin_prefetch(set + kWays / 2, 1);
  }

  /// Returns the line's set, with the line in front. `evicted`: the line that it has replaced.
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
  /// Consecutive lines map to different sets, so that any run of lines as long as the cache fits; each run of `sets_`
  /// lines is rotated against the previous one, so that a column of a matrix does not map to a few sets.
  std::size_t index(std::uint64_t number) const {
    const std::uint64_t run = number / sets_;
    const std::uint64_t rotation = (run * 0x9E3779B1 & 0xFFFFFFFF) * sets_ >> 32;  // below sets_
    const std::uint64_t set = number - run * sets_ + rotation;
    return set < sets_ ? set : set - sets_;
  }

  std::size_t sets_;
  std::vector<Line> lines_;
};

bool has_two_partitions(const Device& device) { return device.minor == 0 && device.major >= 8 && device.major <= 10; }

/// The L2 and its traffic to DRAM. `side`: of the requesting multiprocessor, 0 or 1.
class SecondLevel {
 public:
  SecondLevel(const Device& device, CacheCounts& counts)
      : partitions_(has_two_partitions(device) ? 2 : 1, Cache(device.l2_bytes / (has_two_partitions(device) ? 2 : 1))),
        counts_(counts) {}

  void prefetch(std::uint64_t number) const {
    for (const Cache& partition : partitions_) partition.prefetch(number);
  }

  void load(unsigned side, std::uint64_t number, unsigned sectors) {
    side %= partitions_.size();
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
    set[0].fill_dirty(sectors);
    if (was_clean) limit_dirty(set);
  }

 private:
  Cache::Set use(unsigned partition, std::uint64_t number) {
    Line evicted;
    const Cache::Set set = partitions_[partition].use(number, evicted);
    counts_.dram_written_sectors += count(evicted.dirty());
    return set;
  }

  /// For a copy in the other partition.
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
    oldest->clear_dirty();
  }

  /// Hashed, so that no stride maps to one partition only.
  unsigned home_of(std::uint64_t number) const {
    return partitions_.size() == 1 ? 0 : static_cast<unsigned>(std::popcount(number)) & 1;
  }

  std::vector<Cache> partitions_;
  CacheCounts& counts_;
};

bool has_caches(const Device& device) { return device.l2_bytes > 0; }

void require_caches(const Device& device) {
  const std::string name(device.name);
  if (!has_caches(device)) throw Error(name + " has no cache for global memory");
  if (device.major < 7)
    throw Error("the caches of " + name + " are not modelled: that requires compute capability 7.0 or later");
}

}  // namespace

double CacheCounts::l1_hit_rate() const { return rate(l1_load_hits, l1_load_sectors); }
double CacheCounts::l2_hit_rate() const { return rate(l2_load_hits, l2_load_sectors); }

CacheCounts& CacheCounts::operator+=(const CacheCounts& other) {
  l1_load_lines += other.l1_load_lines;
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
                 .shared_bytes = static_cast<std::int64_t>(static_shared_bytes + launch.dynamic_shared_bytes),
                 .z = launch.block.z});
  if (!resident.runs()) throw Error(std::string(device.name) + " cannot run this launch: " + resident.reason);
  return resident.blocks_per_sm;
}

std::size_t l1_bytes(const Device& device, int blocks_per_sm, std::size_t shared_bytes_per_block) {
  require_caches(device);
  if (blocks_per_sm < 1) throw Error("the cache model needs at least one resident block");
  const SmLimits sm = sm_limits(device.major, device.minor);
  const std::size_t largest = static_cast<std::size_t>(sm.shared_per_sm);
  // One thread, since only shared memory matters here; occupancy() adds the reserved bytes and rounds.
  const Occupancy block =
      occupancy(sm, {.threads = 1, .shared_bytes = static_cast<std::int64_t>(shared_bytes_per_block)});
  const std::size_t needed = static_cast<std::size_t>(block.shared_per_block) * static_cast<std::size_t>(blocks_per_sm);
  if (needed > largest)
    throw Error(std::to_string(blocks_per_sm) + " blocks with " + std::to_string(shared_bytes_per_block) +
                " B of shared memory do not fit an SM of " + std::string(device.name));
  // The possible carve-outs are the same on all devices, up to the device's largest; Turing has 32 and 64 KiB only.
  std::size_t carved = device.major == 7 && device.minor == 5 ? 32 * kKiB : 0;
  for (const std::size_t size : {8, 16, 32, 64, 100, 132, 164, 196, 228})
    if (carved < needed) carved = std::min(size * kKiB, largest);
  // L1 and shared memory together: 128 KiB on 7.0, 8.6, 8.9 and 12.0, 96 on 7.5, 192 on 8.0, 256 on 9.0 and 10.0. That
  // is the next multiple of 32 KiB above the largest carve-out.
  constexpr std::size_t kUnit = 32 * kKiB;
  return (largest / kUnit + 1) * kUnit - carved;
}

struct CacheModel::State {
  /// A resident block and its remaining requests.
  struct Resident {
    std::size_t sm;
    RequestStream requests;
    std::size_t next = 0;
  };

  State(const Device& device, std::size_t launched, int blocks_per_sm, std::size_t l1, std::size_t buffered_bytes)
      : blocks(launched),
        part_bytes(buffered_bytes / 2),
        per_wave(static_cast<std::size_t>(device.sm_count) * static_cast<std::size_t>(blocks_per_sm)),
        is_cached(has_caches(device)),
        l1s(static_cast<std::size_t>(device.sm_count), Cache(l1)),
        l2(device, counts) {}

  /// A transaction of a device without caches.
  void access_dram(unsigned sectors, bool is_store) {
    (is_store ? counts.dram_written_sectors : counts.dram_read_sectors) += count(sectors);
  }

  void load_past_l1(std::size_t sm, std::uint64_t number, unsigned sectors) {
    ++counts.l1_load_lines;
    counts.l1_load_sectors += count(sectors);
    l2.load(side_of(sm), number, sectors);
  }

  void access(std::size_t sm, std::uint64_t number, unsigned sectors, bool is_store) {
    Line evicted;  // dropped: an L1 is write-through
    Line& line = *l1s[sm].use(number, evicted);
    const unsigned missing = sectors & ~line.present();
    line.fill(sectors);
    if (is_store) {
      l2.store(number, sectors);
      return;
    }
    ++counts.l1_load_lines;
    counts.l1_load_sectors += count(sectors);
    counts.l1_load_hits += count(sectors & ~missing);
    if (missing != 0) l2.load(side_of(sm), number, missing);
  }

  /// The two SMs of a TPC are on the same side.
  static unsigned side_of(std::size_t sm) { return sm / 2 % 2; }

  void access(const Resident& block, std::size_t i) {
    const RequestStream& requests = block.requests;
    const std::uint64_t number = requests.line(i);
    const unsigned sectors = requests.sectors(i);
    if (!is_cached)
      access_dram(sectors, requests.is_store(i));
    else if (requests.is_past_l1(i))
      load_past_l1(block.sm, number, sectors);
    else
      access(block.sm, number, sectors, requests.is_store(i));
  }

  void prefetch(const Resident& block) const {
    const std::uint64_t number = block.requests.line(block.next);
    l1s[block.sm].prefetch(number);
    l2.prefetch(number);
  }

  void add_resident(std::size_t rank, RequestStream&& requests) {
    bytes += requests.bytes();
    if (requests.size() > 0) wave.push_back({rank % l1s.size(), std::move(requests)});
  }

  /// Simulates the resident blocks round-robin, until none of them has a request left.
  void simulate() {
    while (!wave.empty()) {
      bool some_ended = false;
      for (std::size_t b = 0; b < wave.size(); ++b) {
        if (is_cached && b + kPrefetchDistance < wave.size()) prefetch(wave[b + kPrefetchDistance]);
        Resident& block = wave[b];
        access(block, block.next++);
        some_ended |= block.next == block.requests.size();
      }
      if (some_ended) std::erase_if(wave, [](const Resident& block) { return block.next == block.requests.size(); });
    }
    bytes = 0;
  }

  /// Makes the waiting blocks that are next resident.
  void advance() {
    for (auto first = waiting.begin(); first != waiting.end() && first->first == next; first = waiting.begin()) {
      const std::size_t rank = next++;
      waiting_bytes -= first->second.bytes();
      add_resident(rank, std::move(first->second));
      waiting.erase(first);
      while (simulated_early.erase(next) > 0) ++next;
      if (next == blocks || next / per_wave != rank / per_wave || bytes > part_bytes) simulate();
    }
  }

  /// Simulates the waiting blocks without the missing ones of lower rank.
  void simulate_early() {
    simulate();
    for (auto& [rank, requests] : waiting) {
      add_resident(rank, std::move(requests));
      simulated_early.insert(rank);
      if (wave.size() == per_wave) simulate();
    }
    simulate();
    waiting.clear();
    waiting_bytes = 0;
  }

  bool has(std::size_t rank) const { return rank < next || waiting.contains(rank) || simulated_early.contains(rank); }

  std::mutex mutex;
  CacheCounts counts;
  std::size_t blocks, part_bytes, per_wave;
  bool is_cached;
  std::vector<Cache> l1s;
  SecondLevel l2;

  std::size_t next = 0;  ///< the lowest rank that has not been added
  std::vector<Resident> wave;
  std::size_t bytes = 0;                         ///< of the requests in `wave`
  std::map<std::size_t, RequestStream> waiting;  ///< for blocks of lower rank, by rank
  std::size_t waiting_bytes = 0;
  std::set<std::size_t> simulated_early;
};

CacheModel::CacheModel(const Device& device, std::size_t blocks, int blocks_per_sm, std::size_t shared_bytes_per_block,
                       std::size_t buffered_bytes) {
  const bool is_cached = has_caches(device);
  const std::size_t l1 = is_cached ? l1_bytes(device, blocks_per_sm, shared_bytes_per_block) : 0;
  if (device.sm_count < 1 || (is_cached && device.l2_bytes < 2 * kWays * kLineBytes))
    throw Error(std::string(device.name) + " has no multiprocessors, or its L2 is too small for the cache model");
  state_ = std::make_unique<State>(device, blocks, blocks_per_sm, l1, buffered_bytes);
}

CacheModel::~CacheModel() = default;

void CacheModel::add_block(std::size_t rank, RequestStream&& requests) {
  const std::lock_guard lock(state_->mutex);
  if (rank >= state_->blocks || state_->has(rank))
    throw Error("the cache model was given block " + std::to_string(rank) + " of " + std::to_string(state_->blocks) +
                (rank >= state_->blocks ? "" : " twice"));
  state_->waiting_bytes += requests.bytes();
  state_->waiting.emplace(rank, std::move(requests));
  state_->advance();
  if (state_->waiting_bytes > state_->part_bytes) state_->simulate_early();
}

CacheCounts CacheModel::finish() {
  const std::lock_guard lock(state_->mutex);
  if (state_->next != state_->blocks)
    throw Error("the cache model is missing block " + std::to_string(state_->next) + " of " +
                std::to_string(state_->blocks));
  return state_->counts;
}

}  // namespace rung
