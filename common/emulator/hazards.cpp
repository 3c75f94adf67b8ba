#include "common/emulator/hazards.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <deque>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace rung {
namespace {

constexpr unsigned kLanes = 32;
constexpr unsigned kMaxThreads = 1024;

// ---- What is remembered of each element ----

/// An access in 64 bits: who, when and where. 0 is none.
/// Its time is the block's index and, in the low bits, the number of the block's barriers and fences before it (from
/// 1).
struct Mark {
  static constexpr int kThreadBits = 10, kSiteBits = 13, kTimeShift = 27, kTimeBits = 64 - kTimeShift;
  static constexpr std::uint64_t kStore = 1ull << 23, kStrong = 1ull << 24, kInFlight = 1ull << 25,
                                 kWriter = 1ull << 26;

  std::uint64_t bits = 0;

  explicit operator bool() const { return bits != 0; }
  bool operator==(const Mark&) const = default;
  unsigned thread() const { return bits & (kMaxThreads - 1); }
  unsigned site() const { return bits >> kThreadBits & ((1u << kSiteBits) - 1); }
  std::uint64_t time() const { return bits >> kTimeShift; }
  bool is_store() const { return bits & kStore; }
  bool is_strong() const { return bits & kStrong; }  ///< atomic or volatile
  bool is_in_flight() const { return bits & kInFlight; }
  bool is_in_writer_slot() const { return bits & kWriter; }
  /// Accesses of the same class race with the same others.
  bool has_class_of(Mark other) const { return ((bits ^ other.bits) & (kStore | kStrong)) == 0; }
  bool is_strong_load() const { return (bits & (kStore | kStrong)) == kStrong; }
};

/// Whether the two race unless something orders them.
bool conflict(Mark a, Mark b) { return (a.is_store() || b.is_store()) && !(a.is_strong() && b.is_strong()); }

/// What is known of an element: its last store, and two of the accesses since that may go on side by side.
struct Cell {
  Mark writer, first, second;
  bool is_written() const { return writer || first.is_store() || second.is_store(); }
};

Mark load(const std::uint64_t& slot) {
  return {std::atomic_ref(const_cast<std::uint64_t&>(slot)).load(std::memory_order_relaxed)};
}
void store(std::uint64_t& slot, Mark mark) { std::atomic_ref(slot).store(mark.bits, std::memory_order_relaxed); }

class SpinLock {
 public:
  void lock() {
    while (taken_.exchange(true, std::memory_order_acquire))
      while (taken_.load(std::memory_order_relaxed)) {
      }
  }
  void unlock() { taken_.store(false, std::memory_order_release); }

 private:
  alignas(64) std::atomic<bool> taken_ = false;
};

/// The locks of all pages; a page of memory has one of them.
using PageLocks = std::array<SpinLock, 512>;

/// The cells of a range of memory. A word has two slots: the one for the last store holds a second load where there was
/// no store. What does not fit there, a page of memory gets when it is first needed: a third slot for each word, or
/// cells for each byte.
class Shadow {
 public:
  /// `locks`: null if only one OS thread uses it. `written_bytes`: as in GridHazards::add_buffer.
  Shadow(std::uintptr_t begin, std::size_t bytes, PageLocks* locks, std::uint8_t* written_bytes)
      : begin_(begin), end_(begin + bytes), base_(begin & ~(kPageBytes - 1)), locks_(locks), written_(written_bytes) {
    const std::size_t pages = (end_ - base_ + kPageBytes - 1) / kPageBytes;
    // Zeroed by the operating system when they are first touched.
    slots_.reset(static_cast<std::uint64_t*>(std::calloc(pages * kPageWords * 2, sizeof(std::uint64_t))));
    pages_.reset(static_cast<Page*>(std::calloc(pages, sizeof(Page))));
    if (!slots_ || !pages_)
      throw Error("no memory to check a buffer of " + std::to_string(bytes) + " bytes for hazards");
    for (std::size_t i = 0; i < pages; ++i) new (&pages_.get()[i]) Page;
    page_count_ = pages;
  }
  ~Shadow() {
    for (Page& page : std::span(pages_.get(), page_count_)) {
      delete page.seconds.load();
      delete page.bytes.load();
    }
  }
  Shadow(const Shadow&) = delete;
  Shadow& operator=(const Shadow&) = delete;

  std::uintptr_t begin() const { return begin_; }
  std::uintptr_t end() const { return end_; }
  bool holds(std::uintptr_t address) const { return address - begin_ < end_ - begin_; }

  /// Gives `check` the cell and the address of each element, a word or a byte, of an access that begins in the range.
  /// It returns whether it has changed the cell.
  template <typename Check>
  void visit(std::uintptr_t address, std::size_t bytes, Check&& check) {
    const bool in_words = ((address | bytes) & 3) == 0;
    const std::uintptr_t end = address + std::min(bytes, end_ - address);
    while (address < end) {
      const std::uintptr_t page_index = (address - base_) / kPageBytes;
      const std::uintptr_t stop = std::min(end, base_ + (page_index + 1) * kPageBytes);
      Page& page = pages_.get()[page_index];
      if (locks_) lock_of(page_index).lock();
      if (!in_words) need_bytes(page_index);
      if (ByteCells* cells = page.bytes.load(std::memory_order_relaxed)) {
        for (; address < stop; ++address) check((*cells)[(address - base_) % kPageBytes], address);
      } else {
        for (; address < stop; address += 4) visit_word(page, (address - base_) / 4, address, check);
      }
      if (locks_) lock_of(page_index).unlock();
    }
  }

  /// Whether loads of two blocks other than `block` are all that is known of each of these words: then one more load
  /// changes nothing. Takes no lock.
  template <typename BlockOf>
  bool is_read_by_others(std::uintptr_t address, std::size_t bytes, std::uint64_t block, BlockOf block_of) const {
    if (((address | bytes) & 3) != 0 || end_ - address < bytes) return false;
    for (const std::uintptr_t end = address + bytes; address < end; address += 4) {
      if (pages_.get()[(address - base_) / kPageBytes].bytes.load(std::memory_order_relaxed)) return false;
      const std::size_t word = (address - base_) / 4;
      const Mark a = load(slots_.get()[2 * word]), b = load(slots_.get()[2 * word + 1]);
      if (!a || !b || ((a.bits | b.bits) & (Mark::kStore | Mark::kStrong))) return false;
      const std::uint64_t first = block_of(a), second = block_of(b);
      if (first == second || first == block || second == block) return false;
    }
    return true;
  }

  /// Whether all bytes of a load have been written, before this launch or in it; marks those of a store.
  bool are_written(std::uintptr_t address, std::size_t bytes) const {
    if (!written_) return true;
    bool all = true;
    for (std::size_t i = 0; i < std::min(bytes, end_ - address); ++i)
      all &= std::atomic_ref(written_[address - begin_ + i]).load(std::memory_order_relaxed) != 0;
    return all;
  }
  void mark_written(std::uintptr_t address, std::size_t bytes) {
    if (!written_) return;
    for (std::size_t i = 0; i < std::min(bytes, end_ - address); ++i)
      std::atomic_ref(written_[address - begin_ + i]).store(1, std::memory_order_relaxed);
  }

 private:
  static constexpr std::uintptr_t kPageBytes = 256, kPageWords = kPageBytes / 4;
  using SecondSlots = std::array<Mark, kPageWords>;
  using ByteCells = std::array<Cell, kPageBytes>;
  struct Page {
    std::atomic<SecondSlots*> seconds = nullptr;
    std::atomic<ByteCells*> bytes = nullptr;
  };
  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };

  SpinLock& lock_of(std::size_t page) { return (*locks_)[page % locks_->size()]; }

  Cell cell_of(const Page& page, std::size_t word) const {
    const Mark last = load(slots_.get()[2 * word + 1]);
    Cell cell{.writer = {}, .first = load(slots_.get()[2 * word]), .second = last};
    if (last.is_in_writer_slot()) {
      const SecondSlots* seconds = page.seconds.load(std::memory_order_relaxed);
      cell.writer = last;
      cell.second = seconds ? (*seconds)[word % kPageWords] : Mark{};
    }
    return cell;
  }

  template <typename Check>
  void visit_word(Page& page, std::size_t word, std::uintptr_t address, Check& check) {
    Cell cell = cell_of(page, word);
    if (!check(cell, address)) return;
    store(slots_.get()[2 * word], cell.first);
    store(slots_.get()[2 * word + 1], cell.writer ? cell.writer : cell.second);
    SecondSlots* seconds = page.seconds.load(std::memory_order_relaxed);
    if (!seconds && cell.writer && cell.second)
      page.seconds.store(seconds = new SecondSlots{}, std::memory_order_relaxed);
    if (seconds) (*seconds)[word % kPageWords] = cell.second;
  }

  void need_bytes(std::size_t page_index) {
    Page& page = pages_.get()[page_index];
    if (page.bytes.load(std::memory_order_relaxed)) return;
    auto* cells = new ByteCells;
    for (std::size_t i = 0; i < kPageBytes; ++i) (*cells)[i] = cell_of(page, page_index * kPageWords + i / 4);
    page.bytes.store(cells, std::memory_order_relaxed);
  }

  std::uintptr_t begin_, end_, base_;
  PageLocks* locks_;
  std::uint8_t* written_;
  std::unique_ptr<std::uint64_t, Free> slots_;
  std::unique_ptr<Page, Free> pages_;
  std::size_t page_count_ = 0;
};

// ---- What fences and flags order ----

/// What a thread of a block let others see: the accesses of its block up to certain ticks.
struct Release {
  std::uint32_t block = 0, thread = 0;
  std::uint32_t tick = 0;                                       ///< of the store to the flag
  std::uint32_t bytes = 0;                                      ///< of the flag
  std::uint32_t all = 0;                                        ///< of every thread up to this tick; further than that:
  std::vector<std::pair<std::uint32_t, std::uint32_t>> lanes;   ///< a thread and its tick
  std::shared_ptr<const std::vector<std::uint32_t>> by_thread;  ///< the tick of each thread; may be null

  bool covers(std::uint32_t of_thread, std::uint32_t at) const {
    if (at <= all || (by_thread && at <= (*by_thread)[of_thread])) return true;
    return std::any_of(lanes.begin(), lanes.end(),
                       [&](auto lane) { return lane.first == of_thread && at <= lane.second; });
  }
};

/// The first `count` releases at a flag.
struct Acquired {
  std::uint32_t flag = 0, count = 0;
};
using Knowledge = std::vector<Acquired>;

void learn(Knowledge& knowledge, Acquired news) {
  for (Acquired& known : knowledge)
    if (known.flag == news.flag) {
      known.count = std::max(known.count, news.count);
      return;
    }
  knowledge.push_back(news);
}
void learn(Knowledge& knowledge, const Knowledge& news) {
  for (const Acquired& acquired : news) learn(knowledge, acquired);
}

/// The flags of a launch and all releases at each. Who acquires remembers how many there were, not what they were, so
/// that both cost little when thousands of blocks count at one flag.
class Flags {
 public:
  void release(std::uintptr_t address, Release release, const Knowledge& passed_on) {
    const std::lock_guard guard(mutex_);
    const auto [place, is_new] = index_.try_emplace(address, static_cast<std::uint32_t>(flags_.size()));
    if (is_new) flags_.push_back({.address = address, .log = {}, .of_block = {}, .passed_on = {}, .newest = {}});
    Flag& flag = flags_[place->second];
    const auto position = static_cast<std::uint32_t>(flag.log.size());
    for (const Acquired& known : passed_on) {
      std::uint32_t& newest = flag.newest[known.flag];
      if (known.flag == place->second || known.count <= newest) continue;
      newest = known.count;
      flag.passed_on.emplace_back(position, known);
    }
    flag.of_block[release.block].push_back(position);
    flag.log.push_back(std::move(release));
    any_ = true;
  }

  bool any() const { return any_; }

  /// What a load of the address learns; count is 0 if nothing.
  Acquired acquire(std::uintptr_t address) const {
    const std::lock_guard guard(mutex_);
    const auto found = index_.find(address);
    if (found == index_.end()) return {};
    return {found->second, static_cast<std::uint32_t>(flags_[found->second].log.size())};
  }

  /// Whether who has this knowledge is ordered after the access to `address` by that thread at that tick.
  bool covers(const Knowledge& knowledge, std::uint32_t block, std::uint32_t thread, std::uint32_t tick,
              std::uintptr_t address) const {
    const std::lock_guard guard(mutex_);
    Knowledge open = knowledge;
    std::unordered_map<std::uint32_t, std::uint32_t> seen;
    for (std::size_t i = 0; i < open.size(); ++i) {
      const Acquired acquired = open[i];
      const Flag& flag = flags_[acquired.flag];
      if (const auto positions = flag.of_block.find(block); positions != flag.of_block.end())
        for (auto p = positions->second.rbegin(); p != positions->second.rend(); ++p) {
          if (*p >= acquired.count) continue;
          const Release& release = flag.log[*p];
          if (release.covers(thread, tick)) return true;
          const bool is_the_flag = address - flag.address < release.bytes;
          if (is_the_flag && release.thread == thread && tick <= release.tick) return true;
        }
      for (const auto& [position, known] : flag.passed_on) {
        if (position >= acquired.count) break;
        std::uint32_t& most = seen[known.flag];
        if (known.count > most) open.push_back(known);
        most = std::max(most, known.count);
      }
    }
    return false;
  }

 private:
  struct Flag {
    std::uintptr_t address = 0;
    std::vector<Release> log;
    std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> of_block;  ///< positions in the log
    std::vector<std::pair<std::uint32_t, Acquired>> passed_on;  ///< at this position, its thread's own knowledge
    std::unordered_map<std::uint32_t, std::uint32_t> newest;    ///< the largest count passed on, by flag
  };
  mutable std::mutex mutex_;
  std::atomic<bool> any_ = false;
  std::deque<Flag> flags_;
  std::unordered_map<std::uintptr_t, std::uint32_t> index_;
};

}  // namespace

const char* name_of(HazardKind kind) {
  switch (kind) {
    case HazardKind::read_after_write:
      return "read after write";
    case HazardKind::write_after_read:
      return "write after read";
    case HazardKind::write_after_write:
      return "write after write";
    case HazardKind::race_between_blocks:
      return "race between blocks";
    case HazardKind::uninitialized_shared:
      return "uninitialised shared memory";
    case HazardKind::uninitialized_global:
      return "uninitialised global memory";
    case HazardKind::unfinished_copy:
      return "unfinished copy";
  }
  return "unknown hazard";
}

// ---- The launch ----

struct GridHazards::State {
  explicit State(std::uint64_t block_count)
      : blocks(block_count), tick_bits(std::min<int>(31, Mark::kTimeBits - std::bit_width(block_count))) {}

  /// The short name of an access's place in the code; 0 if there are too many.
  std::uint32_t site_id(std::uintptr_t site, bool is_atomic) {
    const std::lock_guard guard(mutex);
    const auto [place, is_new] = site_ids.try_emplace({site, is_atomic}, static_cast<std::uint32_t>(sites.size()));
    if (is_new && sites.size() >> Mark::kSiteBits) {
      place->second = 0;
    } else if (is_new) {
      sites.push_back({site, is_atomic});
    }
    return place->second;
  }

  HazardSide side(Mark mark) const {
    const auto [site, is_atomic] = sites[mark.site()];
    return {static_cast<std::uint32_t>(mark.time() >> tick_bits), mark.thread(), site, mark.is_store(), is_atomic};
  }

  /// `first` is none if there is only one thread.
  void report(HazardKind kind, bool is_shared, std::uintptr_t address, unsigned bytes, Mark first, Mark second) {
    const std::lock_guard guard(mutex);
    const Hazard hazard{.kind = kind,
                        .is_shared = is_shared,
                        .address = address,
                        .bytes = bytes,
                        .first = first ? side(first) : HazardSide{},
                        .second = side(second)};
    const auto [place, is_new] = index.try_emplace({kind, hazard.first.site, hazard.second.site}, found.size());
    if (is_new) {
      found.push_back(hazard);
    } else {
      ++found[place->second].occurrences;
    }
  }

  Shadow* buffer_at(std::uintptr_t address) {
    const auto after = std::upper_bound(buffers.begin(), buffers.end(), address,
                                        [](std::uintptr_t a, const auto& buffer) { return a < buffer->begin(); });
    if (after == buffers.begin() || !(*std::prev(after))->holds(address)) return nullptr;
    return std::prev(after)->get();
  }

  const std::uint64_t blocks;
  const int tick_bits;  ///< of a mark's time
  PageLocks locks;
  std::vector<std::unique_ptr<Shadow>> buffers;  ///< by address
  Flags flags;

  std::mutex mutex;  ///< of everything below
  std::map<std::pair<std::uintptr_t, bool>, std::uint32_t> site_ids;
  std::vector<std::pair<std::uintptr_t, bool>> sites{{0, false}};  ///< place and whether atomic
  std::vector<Hazard> found;
  std::map<std::tuple<HazardKind, std::uintptr_t, std::uintptr_t>, std::size_t> index;
};

GridHazards::GridHazards(std::uint64_t blocks) {
  if (blocks >> 31) throw Error("hazards are checked for at most 2147483647 blocks, not " + std::to_string(blocks));
  state_ = std::make_unique<State>(blocks);
}
GridHazards::~GridHazards() = default;

void GridHazards::add_buffer(std::uintptr_t begin, std::size_t bytes, std::uint8_t* written_bytes) {
  if (bytes == 0) return;
  auto& buffers = state_->buffers;
  const auto after = std::find_if(buffers.begin(), buffers.end(), [&](const auto& b) { return b->end() > begin; });
  if (begin + bytes < begin || (after != buffers.end() && (*after)->begin() < begin + bytes))
    throw Error("a buffer overlaps another one of the launch, or the end of the address space");
  buffers.insert(after, std::make_unique<Shadow>(begin, bytes, &state_->locks, written_bytes));
}

std::vector<Hazard> GridHazards::take() {
  const std::lock_guard guard(state_->mutex);
  state_->index.clear();
  return std::exchange(state_->found, {});
}

// ---- The block ----

struct BlockHazards::State {
  using Ticks = std::array<std::uint32_t, kLanes>;
  /// A thread's last __threadfence: up to which ticks it covers its warp's lanes, and all threads of the block.
  struct Fence {
    Ticks lanes{};
    std::uint32_t all = 0;
  };
  struct Copy {
    std::uintptr_t address;
    unsigned bytes;
    Mark mark;
  };
  struct SiteSlot {
    std::uintptr_t key = 0;
    std::uint32_t id = 0;
  };

  // What the barriers of this block order. An access at tick t is before thread x's next one if it is x's own, or
  // t <= barrier_tick, or t <= heard[x][its lane] if both are in one warp.
  std::uint32_t tick = 1, barrier_tick = 0, last_tick = 0;
  std::vector<Ticks> heard = std::vector<Ticks>(kMaxThreads);
  bool any_heard = false;

  // What its fences cover. A fence of this interval is in `fences`, those before the last barrier in `all`,
  // `by_thread`.
  bool any_fence = false;
  std::vector<std::uint32_t> fencing;  ///< threads, since the last barrier
  std::vector<Fence> fences = std::vector<Fence>(kMaxThreads);
  std::uint32_t all = 0;
  std::shared_ptr<const std::vector<std::uint32_t>> by_thread;
  std::vector<std::uint32_t> last_store = std::vector<std::uint32_t>(kMaxThreads);  ///< plain, to global memory
  std::vector<std::pair<std::uintptr_t, std::uint32_t>> last_release{kMaxThreads};  ///< flag and tick

  // What it has acquired: all threads before the last barrier, and single ones since.
  bool knows_any = false;
  Knowledge knowledge;
  std::map<std::uint32_t, Knowledge> of_thread;
  std::uintptr_t acquiring = 0;  ///< a flag whose load has been reported and not yet made, if not 0 …
  std::uint32_t acquiring_thread = 0;

  std::vector<std::vector<Copy>> copies = std::vector<std::vector<Copy>>(kMaxThreads);  ///< in flight, oldest first
  bool any_copy = false;

  GridHazards::State* grid = nullptr;
  unsigned threads = 0;
  std::uint64_t block = 0;
  std::vector<std::unique_ptr<Shadow>> shared;
  Shadow* last_buffer = nullptr;
  std::vector<SiteSlot> site_cache = std::vector<SiteSlot>(4096);

  // The access that is being checked.
  Mark now;
  bool now_shared = false;
  unsigned now_bytes = 0;
  std::vector<std::pair<HazardKind, unsigned>> reported;  ///< by kind and first site

  void expect_thread(std::uint32_t thread) const {
    if (thread >= threads)
      throw Error("no thread " + std::to_string(thread) + " in a block of " + std::to_string(threads));
  }
  std::uint64_t block_of(Mark mark) const { return mark.time() >> grid->tick_bits; }
  std::uint32_t tick_of(Mark mark) const { return mark.time() & last_tick; }
  bool same_warp(Mark a, Mark b) const {
    return a.thread() / kLanes == b.thread() / kLanes && block_of(a) == block_of(b);
  }

  /// Time stands still at its end: everything of the block then counts as ordered.
  void advance() { tick = std::min(tick + 1, last_tick); }

  std::uint32_t heard_of(std::uint32_t listener, std::uint32_t thread) const {
    return listener / kLanes == thread / kLanes ? std::max(barrier_tick, heard[listener][thread % kLanes])
                                                : barrier_tick;
  }

  void begin_block(std::uint32_t index);
  std::uint32_t site_id(std::uintptr_t site, bool is_atomic);
  Shadow* shadow_at(const CheckedAccess& access);
  Mark mark_of(std::uint32_t thread, const CheckedAccess& access);

  bool is_before_now(Mark old, std::uintptr_t address);
  bool check(Cell& cell, std::uintptr_t address, bool is_load);
  void check_against(Mark old, std::uintptr_t address, bool is_load);
  bool remember(Cell& cell, std::uintptr_t address);
  void report(HazardKind kind, std::uintptr_t address, Mark first);

  void release(std::uint32_t thread, std::uintptr_t address, unsigned bytes);
  void finish_acquire();
  void gather_fences();
};

void BlockHazards::State::begin_block(std::uint32_t index) {
  block = index;
  tick = 1;
  barrier_tick = 0;
  if (std::exchange(any_heard, false)) std::fill(heard.begin(), heard.end(), Ticks{});
  std::fill_n(last_store.begin(), threads, 0u);
  if (std::exchange(any_fence, false)) {
    std::fill(fences.begin(), fences.end(), Fence{});
    std::fill(last_release.begin(), last_release.end(), std::pair<std::uintptr_t, std::uint32_t>{});
  }
  fencing.clear();
  all = 0;
  by_thread = nullptr;
  knows_any = false;
  knowledge.clear();
  of_thread.clear();
  if (std::exchange(any_copy, false))
    for (auto& queue : copies) queue.clear();
}

std::uint32_t BlockHazards::State::site_id(std::uintptr_t site, bool is_atomic) {
  const std::uintptr_t key = site << 1 | std::uintptr_t{is_atomic};
  SiteSlot& slot = site_cache[(key * 0x9E3779B97F4A7C15ull >> 40) % site_cache.size()];
  if (slot.key != key) slot = {key, site == 0 ? 0 : grid->site_id(site, is_atomic)};
  return slot.id;
}

Shadow* BlockHazards::State::shadow_at(const CheckedAccess& access) {
  if (access.is_shared) {
    for (const auto& range : shared)
      if (range->holds(access.address)) return range.get();
    return nullptr;
  }
  if (last_buffer && last_buffer->holds(access.address)) return last_buffer;
  if (Shadow* found = grid->buffer_at(access.address)) return last_buffer = found;
  return nullptr;
}

Mark BlockHazards::State::mark_of(std::uint32_t thread, const CheckedAccess& access) {
  std::uint64_t bits = (block << grid->tick_bits | tick) << Mark::kTimeShift;
  bits |= std::uint64_t{site_id(access.site, access.is_atomic)} << Mark::kThreadBits | thread;
  if (access.is_store || access.is_atomic) bits |= Mark::kStore;
  if (access.is_atomic || access.is_volatile) bits |= Mark::kStrong;
  if (access.is_async) bits |= Mark::kInFlight;
  return {bits};
}

/// Whether something orders the old access before the one that is being checked.
bool BlockHazards::State::is_before_now(Mark old, std::uintptr_t address) {
  if (old.is_in_flight()) return false;
  const std::uint64_t old_block = block_of(old);
  const std::uint32_t thread = now.thread(), old_thread = old.thread(), at = tick_of(old);
  if (old_block == block && (old_thread == thread || at <= heard_of(thread, old_thread))) return true;
  if (!knows_any || now_shared) return false;
  const auto covered = [&](const Knowledge& known) {
    return grid->flags.covers(known, static_cast<std::uint32_t>(old_block), old_thread, at, address);
  };
  const auto own = of_thread.find(thread);
  return covered(knowledge) || (own != of_thread.end() && covered(own->second));
}

/// Each pair of sites once for an access, however many elements it has.
void BlockHazards::State::report(HazardKind kind, std::uintptr_t address, Mark first) {
  const std::pair key{kind, first.site()};
  if (std::find(reported.begin(), reported.end(), key) != reported.end()) return;
  reported.push_back(key);
  grid->report(kind, now_shared, address, now_bytes, first, now);
}

void BlockHazards::State::check_against(Mark old, std::uintptr_t address, bool is_load) {
  if (!old || !conflict(old, now) || is_before_now(old, address)) return;
  if (old.is_in_flight() && is_load) {
    report(HazardKind::unfinished_copy, address, old);
  } else if (block_of(old) != block) {
    report(HazardKind::race_between_blocks, address, old);
  } else if (!now.is_store()) {
    report(HazardKind::read_after_write, address, old);
  } else {
    report(old.is_store() ? HazardKind::write_after_write : HazardKind::write_after_read, address, old);
  }
}

/// Returns whether the cell has changed.
bool BlockHazards::State::check(Cell& cell, std::uintptr_t address, bool is_load) {
  bool has_changed = false;
  if (now_shared) {  // what an earlier block did there is no more
    for (Mark* mark : {&cell.writer, &cell.first, &cell.second})
      if (*mark && block_of(*mark) != block) {
        *mark = {};
        has_changed = true;
      }
    if (is_load && !cell.is_written()) report(HazardKind::uninitialized_shared, address, {});
  }
  check_against(cell.writer, address, is_load);
  check_against(cell.first, address, is_load);
  check_against(cell.second, address, is_load);
  if (now.is_store() && !now.is_strong()) {
    cell = {.writer = {now.bits | Mark::kWriter}, .first = {}, .second = {}};
    return true;
  }
  return remember(cell, address) || has_changed;
}

/// Keeps a load or an atomic, in the place of one that it says more than if there is none free. Returns whether it did.
bool BlockHazards::State::remember(Cell& cell, std::uintptr_t address) {
  const std::array slots{&cell.first, &cell.second};
  std::array<bool, 2> is_before{};
  for (std::size_t i = 0; i < slots.size(); ++i) {
    Mark& old = *slots[i];
    is_before[i] = old && is_before_now(old, address);
    if (!is_before[i] || !(old.has_class_of(now) || old.is_strong_load() || old.is_store())) continue;
    if (old.is_store() && !now.is_store()) {  // an atomic, to which the load comes after as to any store
      if (cell.writer && (now.is_strong() || !is_before_now(cell.writer, address))) continue;
      cell.writer = {old.bits | Mark::kWriter};
    }
    old = {};
  }
  const auto keep_in = [&](Mark& slot) {
    slot = now;
    return true;
  };
  for (Mark* slot : slots)
    if (!*slot) return keep_in(*slot);
  for (std::size_t i = 0; i < slots.size(); ++i)
    if (is_before[i] || (slots[i]->is_strong_load() && !now.is_strong_load())) return keep_in(*slots[i]);
  // A third one at the same time. Later accesses of a warp are ordered with all other warps' or with none of them.
  const bool is_alike = cell.first.has_class_of(now) && cell.second.has_class_of(now);
  return is_alike && same_warp(cell.first, cell.second) && !same_warp(cell.first, now) && keep_in(cell.second);
}

/// Before the thread's atomic or volatile store to `address`: others that load it learn what fences have covered.
void BlockHazards::State::release(std::uint32_t thread, std::uintptr_t address, unsigned bytes) {
  if (!any_fence || last_release[thread] == std::pair{address, tick}) return;
  last_release[thread] = {address, tick};
  Release release{.block = static_cast<std::uint32_t>(block),
                  .thread = thread,
                  .tick = tick,
                  .bytes = bytes,
                  .all = all,
                  .lanes = {},
                  .by_thread = by_thread};
  const std::uint32_t warp = thread / kLanes * kLanes;
  Ticks lanes{};
  for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
    const Fence& fence = fences[warp + lane];
    const std::uint32_t at = fence.lanes[lane];
    if (at == 0 || (warp + lane != thread && at > heard_of(thread, warp + lane))) continue;
    release.all = std::max(release.all, fence.all);
    for (std::uint32_t i = 0; i < kLanes; ++i) lanes[i] = std::max(lanes[i], fence.lanes[i]);
  }
  for (std::uint32_t i = 0; i < kLanes; ++i)
    if (lanes[i] > release.all) release.lanes.emplace_back(warp + i, lanes[i]);
  if (release.all == 0 && release.lanes.empty() && !release.by_thread) return;

  Knowledge passed_on = knowledge;
  if (const auto own = of_thread.find(thread); own != of_thread.end()) learn(passed_on, own->second);
  grid->flags.release(address, std::move(release), passed_on);
}

/// After a load of a flag has been made: whose releases it may have seen.
void BlockHazards::State::finish_acquire() {
  const std::uintptr_t address = std::exchange(acquiring, 0);
  if (!grid->flags.any()) return;
  const Acquired news = grid->flags.acquire(address);
  if (news.count == 0) return;
  learn(of_thread[acquiring_thread], news);
  knows_any = true;
}

/// At a barrier: what the fences before it cover, for whichever thread releases after it.
void BlockHazards::State::gather_fences() {
  std::vector<std::uint32_t> ticks = by_thread ? *by_thread : std::vector<std::uint32_t>(threads);
  for (const std::uint32_t thread : fencing) {
    all = std::max(all, fences[thread].all);
    const std::uint32_t warp = thread / kLanes * kLanes;
    for (std::uint32_t t = warp; t < std::min(warp + kLanes, threads); ++t)
      ticks[t] = std::max(ticks[t], fences[thread].lanes[t - warp]);
  }
  fencing.clear();
  bool covers_all = true;
  for (std::uint32_t t = 0; t < threads; ++t) {
    ticks[t] = std::max(ticks[t], all);
    if (last_store[t] <= ticks[t]) ticks[t] = barrier_tick;  // it has stored nothing since
    covers_all &= ticks[t] == barrier_tick;
  }
  if (covers_all) all = barrier_tick;
  by_thread = covers_all ? nullptr : std::make_shared<const std::vector<std::uint32_t>>(std::move(ticks));
}

BlockHazards::BlockHazards() : state_(std::make_unique<State>()) {}
BlockHazards::~BlockHazards() = default;

void BlockHazards::begin_launch(GridHazards& grid, SharedRange static_shared, SharedRange dynamic_shared,
                                unsigned threads) {
  if (threads == 0 || threads > kMaxThreads)
    throw Error("a block has 1 to 1024 threads, not " + std::to_string(threads));
  state_ = std::make_unique<State>();
  state_->grid = grid.state_.get();
  state_->threads = threads;
  state_->last_tick = (std::uint32_t{1} << grid.state_->tick_bits) - 1;
  for (const SharedRange& range : {static_shared, dynamic_shared})
    if (range.bytes > 0) state_->shared.push_back(std::make_unique<Shadow>(range.begin, range.bytes, nullptr, nullptr));
}

void BlockHazards::begin_block(std::uint32_t block) {
  State& state = *state_;
  if (!state.grid) throw Error("a block without a launch");
  if (block >= state.grid->blocks) throw Error("no block " + std::to_string(block) + " in the launch");
  if (state.acquiring) state.finish_acquire();
  state.begin_block(block);
}

void BlockHazards::access(std::uint32_t thread, const CheckedAccess& access) {
  State& state = *state_;
  state.expect_thread(thread);
  if (state.acquiring) state.finish_acquire();
  Shadow* shadow = state.shadow_at(access);
  if (!shadow || access.bytes == 0) return;

  state.now = state.mark_of(thread, access);
  state.now_shared = access.is_shared;
  state.now_bytes = access.bytes;
  state.reported.clear();
  const bool is_load = !access.is_store || access.is_atomic;
  const bool is_plain_load = !state.now.is_store() && !state.now.is_strong();
  if (!access.is_shared) {
    if (is_load && !shadow->are_written(access.address, access.bytes))
      state.report(HazardKind::uninitialized_global, access.address, {});
    if (state.now.is_store()) shadow->mark_written(access.address, access.bytes);
    if (state.now.is_store() && !state.now.is_strong()) state.last_store[thread] = state.tick;
    if (state.now.is_store() && state.now.is_strong()) state.release(thread, access.address, access.bytes);
    if (is_plain_load && !state.knows_any &&
        shadow->is_read_by_others(access.address, access.bytes, state.block, [&](Mark m) { return state.block_of(m); }))
      return;
  }
  shadow->visit(access.address, access.bytes,
                [&](Cell& cell, std::uintptr_t address) { return state.check(cell, address, is_load); });
  if (access.is_async && access.is_store) {
    state.copies[thread].push_back({access.address, access.bytes, {state.now.bits | Mark::kWriter}});
    state.any_copy = true;
  }
  if (!access.is_shared && is_load && state.now.is_strong()) {
    state.acquiring = access.address;
    state.acquiring_thread = thread;
  }
}

void BlockHazards::block_barrier() {
  State& state = *state_;
  if (state.acquiring) state.finish_acquire();
  state.barrier_tick = state.tick;
  state.advance();
  for (const auto& [thread, known] : state.of_thread) learn(state.knowledge, known);
  state.of_thread.clear();
  if (!state.fencing.empty()) state.gather_fences();
}

void BlockHazards::warp_barrier(std::uint32_t warp, std::uint32_t lanes) {
  State& state = *state_;
  if (warp * std::uint64_t{kLanes} >= state.threads)
    throw Error("no warp " + std::to_string(warp) + " in a block of " + std::to_string(state.threads) + " threads");
  if (state.acquiring) state.finish_acquire();
  const std::uint32_t first = warp * kLanes;  // its lanes beyond the block's end do nothing, so that they do not matter
  State::Ticks joined{};
  Knowledge known;
  const auto each_lane = [&](auto&& visit) {
    for (std::uint32_t rest = lanes; rest != 0; rest &= rest - 1)
      visit(static_cast<std::uint32_t>(std::countr_zero(rest)));
  };
  each_lane([&](std::uint32_t lane) {
    const State::Ticks& heard = state.heard[first + lane];
    for (unsigned i = 0; i < kLanes; ++i) joined[i] = std::max(joined[i], heard[i]);
    if (const auto own = state.of_thread.find(first + lane); own != state.of_thread.end()) learn(known, own->second);
  });
  each_lane([&](std::uint32_t lane) { joined[lane] = state.tick; });
  each_lane([&](std::uint32_t lane) {
    state.heard[first + lane] = joined;
    if (!known.empty()) state.of_thread[first + lane] = known;
  });
  state.any_heard = true;
  state.advance();
}

void BlockHazards::fence(std::uint32_t thread, bool of_block_only) {
  State& state = *state_;
  state.expect_thread(thread);
  if (state.acquiring) state.finish_acquire();
  if (of_block_only) return;
  State::Fence& fence = state.fences[thread];
  fence = {.lanes = state.heard[thread], .all = state.barrier_tick};
  fence.lanes[thread % kLanes] = state.tick;
  if (std::find(state.fencing.begin(), state.fencing.end(), thread) == state.fencing.end())
    state.fencing.push_back(thread);
  state.any_fence = true;
  state.advance();  // what the thread does next is not covered
}

void BlockHazards::copies_arrived(std::uint32_t thread, std::size_t still_open) {
  State& state = *state_;
  state.expect_thread(thread);
  if (state.acquiring) state.finish_acquire();
  auto& copies = state.copies[thread];
  const std::size_t arriving = copies.size() - std::min(still_open, copies.size());
  for (std::size_t i = 0; i < arriving; ++i) {
    const auto& [address, bytes, in_flight] = copies[i];
    const std::uint64_t time = (state.block << state.grid->tick_bits | state.tick) << Mark::kTimeShift;
    const std::uint64_t who = in_flight.bits & ((1ull << Mark::kTimeShift) - 1) & ~Mark::kInFlight;
    const auto arrive = [&](Cell& cell, std::uintptr_t) {
      if (cell.writer != in_flight) return false;
      cell.writer = {time | who};
      return true;
    };
    for (const auto& range : state.shared)
      if (range->holds(address)) range->visit(address, bytes, arrive);
    if (Shadow* buffer = state.grid->buffer_at(address)) buffer->visit(address, bytes, arrive);
  }
  copies.erase(copies.begin(), copies.begin() + static_cast<std::ptrdiff_t>(arriving));
}

}  // namespace rung
