/// The checks themselves: each access is compared with the earlier ones in shadow memory that it conflicts with.
#include "common/emulator/hazards.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>

#include "common/emulator/happens_before.hpp"
#include "common/emulator/shadow_memory.hpp"

namespace rung {

static_assert(kMaxThreadsPerBlock == 1u << AccessRecord::kThreadBits);

// ---- The launch ----

struct GridHazards::State {
  explicit State(std::uint64_t block_count)
      : blocks(block_count), epoch_bits(std::min<int>(31, AccessRecord::kTimeBits - std::bit_width(block_count))) {}

  /// A number for the site of an access, to fit an AccessRecord; 0 if there are too many.
  std::uint32_t site_id(std::uintptr_t site, Actor actor) {
    const std::lock_guard guard(mutex);
    const auto [place, is_new] = site_ids.try_emplace({site, actor}, static_cast<std::uint32_t>(sites.size()));
    if (is_new && sites.size() >> AccessRecord::kSiteBits) {
      place->second = 0;
    } else if (is_new) {
      sites.push_back({site, actor});
    }
    return place->second;
  }

  HazardSide side(AccessRecord access) const {
    const auto [site, actor] = sites[access.site()];
    return {static_cast<std::uint32_t>(access.time() >> epoch_bits), access.thread(), site, access.is_store(), actor};
  }

  /// `first` is none if there is only one thread.
  void report(FindingKind kind, bool is_shared, std::uintptr_t address, unsigned bytes, AccessRecord first,
              AccessRecord second) {
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

  ShadowMemory* buffer_at(std::uintptr_t address) {
    const auto after = std::upper_bound(buffers.begin(), buffers.end(), address,
                                        [](std::uintptr_t a, const auto& buffer) { return a < buffer->begin(); });
    if (after == buffers.begin() || !(*std::prev(after))->holds(address)) return nullptr;
    return std::prev(after)->get();
  }

  const std::uint64_t blocks;
  const int epoch_bits;  ///< of an access's time
  PageLocks locks;
  std::vector<std::unique_ptr<ShadowMemory>> buffers;  ///< by address
  SyncFlags flags;

  std::mutex mutex;  ///< of everything below
  std::map<std::pair<std::uintptr_t, Actor>, std::uint32_t> site_ids;
  std::vector<std::pair<std::uintptr_t, Actor>> sites{{0, Actor::thread}};  ///< return address and who
  std::vector<Hazard> found;
  std::map<std::tuple<FindingKind, std::uintptr_t, std::uintptr_t>, std::size_t> index;
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
  buffers.insert(after, std::make_unique<ShadowMemory>(begin, bytes, &state_->locks, written_bytes));
}

std::vector<Hazard> GridHazards::take() {
  const std::lock_guard guard(state_->mutex);
  state_->index.clear();
  return std::exchange(state_->found, {});
}

// ---- The block ----

struct BlockHazards::State {
  struct Copy {
    std::uintptr_t address;
    unsigned bytes;
    AccessRecord record;
  };
  struct CachedSite {
    std::uintptr_t key = 0;
    std::uint32_t id = 0;
  };

  GridHazards::State* grid = nullptr;
  unsigned threads = 0;
  std::uint64_t block = 0, cluster = 1;
  std::uint32_t last_epoch = 0;
  HappensBefore order;

  std::vector<std::unique_ptr<ShadowMemory>> shared;
  ShadowMemory* last_buffer = nullptr;
  std::vector<CachedSite> site_cache = std::vector<CachedSite>(4096);
  std::pair<unsigned, Actor> last_actor{0, Actor::thread};  ///< of a site

  std::vector<std::vector<Copy>> copies =
      std::vector<std::vector<Copy>>(kMaxThreadsPerBlock);  ///< in flight, oldest first
  bool any_copy = false;

  // The access that is being checked.
  AccessRecord now;
  const HappensBefore* now_order = &order;  ///< of the block that makes it
  bool now_shared = false, now_by_unit = false;
  unsigned now_bytes = 0;
  std::vector<std::pair<FindingKind, unsigned>> reported;  ///< by kind and first site

  void expect_thread(std::uint32_t thread) const {
    if (thread >= threads)
      throw Error("no thread " + std::to_string(thread) + " in a block of " + std::to_string(threads));
  }
  std::uint64_t time() const { return block << grid->epoch_bits | order.epoch(); }
  std::uint64_t block_of(AccessRecord access) const { return access.time() >> grid->epoch_bits; }
  std::uint32_t epoch_of(AccessRecord access) const { return access.time() & last_epoch; }
  bool is_of_cluster(AccessRecord access) const {
    return block_of(access) == block || block_of(access) / cluster == block / cluster;
  }
  std::uint32_t rank_of(AccessRecord access) const {
    return cluster == 1 ? 0 : static_cast<std::uint32_t>(block_of(access) % cluster);
  }
  bool same_warp(AccessRecord a, AccessRecord b) const {
    return a.thread() / kLanesPerWarp == b.thread() / kLanesPerWarp && block_of(a) == block_of(b);
  }

  void begin_block(std::uint32_t index);
  std::uint32_t site_id(std::uintptr_t site, Actor actor);
  Actor actor_of(AccessRecord access);
  ShadowMemory* shadow_at(const CheckedAccess& access);
  AccessRecord record_of(std::uint32_t thread, const CheckedAccess& access);

  bool happens_before_now(AccessRecord old, std::uintptr_t address);
  bool check(ShadowCell& cell, std::uintptr_t address, bool is_load);
  void check_against(AccessRecord old, std::uintptr_t address, bool is_load);
  bool remember(ShadowCell& cell, std::uintptr_t address);
  void report(FindingKind kind, std::uintptr_t address, AccessRecord first);
};

void BlockHazards::State::begin_block(std::uint32_t index) {
  block = index;
  order.begin_block(index);
  if (std::exchange(any_copy, false))
    for (auto& queue : copies) queue.clear();
}

std::uint32_t BlockHazards::State::site_id(std::uintptr_t site, Actor actor) {
  const std::uintptr_t key = site << 2 | static_cast<std::uintptr_t>(actor);
  CachedSite& cached = site_cache[(key * 0x9E3779B97F4A7C15ull >> 40) % site_cache.size()];
  if (cached.key != key) cached = {key, site == 0 ? 0 : grid->site_id(site, actor)};
  return cached.id;
}

Actor BlockHazards::State::actor_of(AccessRecord access) {
  if (last_actor.first != access.site()) {
    const std::lock_guard guard(grid->mutex);
    last_actor = {access.site(), grid->sites[access.site()].second};
  }
  return last_actor.second;
}

ShadowMemory* BlockHazards::State::shadow_at(const CheckedAccess& access) {
  if (access.is_shared) {
    for (const auto& range : shared)
      if (range->holds(access.address)) return range.get();
    return nullptr;
  }
  if (last_buffer && last_buffer->holds(access.address)) return last_buffer;
  if (ShadowMemory* found = grid->buffer_at(access.address)) return last_buffer = found;
  return nullptr;
}

AccessRecord BlockHazards::State::record_of(std::uint32_t thread, const CheckedAccess& access) {
  std::uint64_t bits = time() << AccessRecord::kTimeShift;
  const Actor actor = access.is_atomic ? Actor::atomic : access.by_copier ? Actor::copier : Actor::thread;
  bits |= std::uint64_t{site_id(access.site, actor)} << AccessRecord::kThreadBits | thread;
  if (access.is_store || access.is_atomic) bits |= AccessRecord::kStore;
  if (access.is_atomic || access.is_volatile) bits |= AccessRecord::kStrong;
  if (access.is_async) bits |= AccessRecord::kInFlight;
  return {bits};
}

bool BlockHazards::State::happens_before_now(AccessRecord old, std::uintptr_t address) {
  if (old.is_in_flight()) return false;
  const std::uint64_t old_block = block_of(old);
  const std::uint32_t thread = now.thread(), old_thread = old.thread(), epoch = epoch_of(old);
  if (now_shared) return now_order->has_seen(thread, rank_of(old), old_thread, epoch);
  if (old_block == block && order.is_ordered(old_thread, epoch, thread)) return true;
  if (!order.has_acquired()) return false;
  return order.is_released_to(thread, static_cast<std::uint32_t>(old_block), old_thread, epoch, address);
}

/// Each pair of sites once for an access, however many elements it has.
void BlockHazards::State::report(FindingKind kind, std::uintptr_t address, AccessRecord first) {
  const std::pair key{kind, first.site()};
  if (std::find(reported.begin(), reported.end(), key) != reported.end()) return;
  reported.push_back(key);
  grid->report(kind, now_shared, address, now_bytes, first, now);
}

void BlockHazards::State::check_against(AccessRecord old, std::uintptr_t address, bool is_load) {
  if (!old || !conflict(old, now)) return;
  if (happens_before_now(old, address)) {
    if (now_by_unit && old.is_store() && actor_of(old) <= Actor::atomic &&
        !now_order->is_published(now.thread(), rank_of(old), old.thread(), epoch_of(old)))
      report(finding_kind::missing_proxy_fence, address, old);
    return;
  }
  if (old.is_in_flight() && is_load) {
    report(finding_kind::unfinished_copy, address, old);
  } else if (block_of(old) != block_of(now)) {
    report(finding_kind::race_between_blocks, address, old);
  } else if (!now.is_store()) {
    report(finding_kind::read_after_write, address, old);
  } else {
    report(old.is_store() ? finding_kind::write_after_write : finding_kind::write_after_read, address, old);
  }
}

/// Returns whether the cell has changed.
bool BlockHazards::State::check(ShadowCell& cell, std::uintptr_t address, bool is_load) {
  bool has_changed = false;
  if (now_shared) {  // shared memory does not outlive its block
    for (AccessRecord* access : {&cell.writer, &cell.first, &cell.second})
      if (*access && !is_of_cluster(*access)) {
        *access = {};
        has_changed = true;
      }
    if (is_load && !cell.is_written()) report(finding_kind::uninitialized_shared, address, {});
  }
  check_against(cell.writer, address, is_load);
  check_against(cell.first, address, is_load);
  check_against(cell.second, address, is_load);
  if (now.is_store() && !now.is_strong()) {
    cell = {.writer = {now.bits | AccessRecord::kInWriterSlot}, .first = {}, .second = {}};
    return true;
  }
  return remember(cell, address) || has_changed;
}

/// Records a load or an atomic in a free slot, else instead of an access that it subsumes. Returns whether it did.
bool BlockHazards::State::remember(ShadowCell& cell, std::uintptr_t address) {
  const std::array slots{&cell.first, &cell.second};
  if (cell.first == now || cell.second == now) return false;
  std::array<bool, 2> is_before{};
  for (std::size_t i = 0; i < slots.size(); ++i) {
    AccessRecord& old = *slots[i];
    is_before[i] = old && happens_before_now(old, address);
    if (!is_before[i] || !(old.has_class_of(now) || old.is_strong_load() || old.is_store())) continue;
    if (old.is_store() && !now.is_store()) {  // an atomic: to the load, a store that happened before
      if (cell.writer && (now.is_strong() || !happens_before_now(cell.writer, address))) continue;
      cell.writer = {old.bits | AccessRecord::kInWriterSlot};
    }
    old = {};
  }
  const auto record_in = [&](AccessRecord& slot) {
    slot = now;
    return true;
  };
  for (AccessRecord* slot : slots)
    if (!*slot) return record_in(*slot);
  for (std::size_t i = 0; i < slots.size(); ++i)
    if (is_before[i] || (slots[i]->is_strong_load() && !now.is_strong_load())) return record_in(*slots[i]);
  // A third concurrent access. A later access is ordered with the accesses of all other warps or of no other warp.
  const bool is_alike = cell.first.has_class_of(now) && cell.second.has_class_of(now);
  return is_alike && same_warp(cell.first, cell.second) && !same_warp(cell.first, now) && record_in(cell.second);
}

BlockHazards::BlockHazards() : state_(std::make_unique<State>()) {}
BlockHazards::~BlockHazards() = default;

void BlockHazards::begin_launch(GridHazards& grid, SharedRange static_shared, SharedRange dynamic_shared,
                                unsigned threads, unsigned cluster) {
  if (threads == 0 || threads > kMaxThreadsPerBlock)
    throw Error("a block has 1 to 1024 threads, not " + std::to_string(threads));
  state_ = std::make_unique<State>();
  state_->grid = grid.state_.get();
  state_->threads = threads;
  state_->cluster = cluster;
  state_->last_epoch = (std::uint32_t{1} << grid.state_->epoch_bits) - 1;
  state_->order.begin_launch(grid.state_->flags, threads, state_->last_epoch, cluster);
  for (const SharedRange& range : {static_shared, dynamic_shared})
    if (range.bytes > 0)
      state_->shared.push_back(std::make_unique<ShadowMemory>(range.begin, range.bytes, nullptr, nullptr));
}

void BlockHazards::begin_block(std::uint32_t block) {
  State& state = *state_;
  if (!state.grid) throw Error("a block without a launch");
  if (block >= state.grid->blocks) throw Error("no block " + std::to_string(block) + " in the launch");
  state.order.finish_acquire();
  state.begin_block(block);
}

void BlockHazards::access(std::uint32_t thread, const CheckedAccess& access) {
  State& state = *state_;
  HappensBefore& order = state.order;
  state.expect_thread(thread);
  order.finish_acquire();
  ShadowMemory* shadow = state.shadow_at(access);
  if (!shadow || access.bytes == 0) return;

  state.now = state.record_of(thread, access);
  state.now_order = &order;
  state.now_shared = access.is_shared;
  state.now_by_unit = false;
  state.now_bytes = access.bytes;
  state.reported.clear();
  const bool is_load = !access.is_store || access.is_atomic;
  const bool is_plain_load = !state.now.is_store() && !state.now.is_strong();
  if (!access.is_shared) {
    if (is_load && !shadow->are_written(access.address, access.bytes))
      state.report(finding_kind::uninitialized_global, access.address, {});
    if (state.now.is_store()) shadow->mark_written(access.address, access.bytes);
    if (state.now.is_store() && !state.now.is_strong()) order.plain_store(thread);
    if (state.now.is_store() && state.now.is_strong()) order.release(thread, access.address, access.bytes);
    if (is_plain_load && !order.has_acquired() &&
        shadow->is_read_by_others(access.address, access.bytes, state.block,
                                  [&](AccessRecord a) { return state.block_of(a); }))
      return;
  }
  shadow->visit(access.address, access.bytes,
                [&](ShadowCell& cell, std::uintptr_t address) { return state.check(cell, address, is_load); });
  if (access.is_async && access.is_store) {
    state.copies[thread].push_back({access.address, access.bytes, {state.now.bits | AccessRecord::kInWriterSlot}});
    state.any_copy = true;
  }
  if (!access.is_shared && is_load && state.now.is_strong()) order.begin_acquire(thread, access.address);
}

void BlockHazards::block_barrier() {
  state_->order.finish_acquire();
  state_->order.block_barrier();
}

void BlockHazards::warp_barrier(std::uint32_t warp, std::uint32_t lanes) {
  State& state = *state_;
  if (warp * std::uint64_t{kLanesPerWarp} >= state.threads)
    throw Error("no warp " + std::to_string(warp) + " in a block of " + std::to_string(state.threads) + " threads");
  state.order.finish_acquire();
  state.order.warp_barrier(warp * kLanesPerWarp, lanes);
}

void BlockHazards::fence(std::uint32_t thread, bool of_block_only) {
  state_->expect_thread(thread);
  state_->order.finish_acquire();
  if (!of_block_only) state_->order.fence(thread);
}

void BlockHazards::copies_arrived(std::uint32_t thread, std::size_t still_open) {
  State& state = *state_;
  state.expect_thread(thread);
  state.order.finish_acquire();
  auto& copies = state.copies[thread];
  const std::size_t arriving = copies.size() - std::min(still_open, copies.size());
  for (std::size_t i = 0; i < arriving; ++i) {
    const State::Copy& copy = copies[i];
    const std::uint64_t time = state.time() << AccessRecord::kTimeShift;
    const std::uint64_t rest = copy.record.bits & ((1ull << AccessRecord::kTimeShift) - 1) & ~AccessRecord::kInFlight;
    const auto arrive = [&](ShadowCell& cell, std::uintptr_t) {
      if (cell.writer != copy.record) return false;
      cell.writer = {time | rest};
      return true;
    };
    for (const auto& range : state.shared)
      if (range->holds(copy.address)) range->visit(copy.address, copy.bytes, arrive);
    if (ShadowMemory* buffer = state.grid->buffer_at(copy.address)) buffer->visit(copy.address, copy.bytes, arrive);
  }
  copies.erase(copies.begin(), copies.begin() + static_cast<std::ptrdiff_t>(arriving));
}

// ---- Barriers of some threads, and asynchronous units ----

void BlockHazards::arrive(std::uint32_t thread, Handed& to) {
  state_->order.finish_acquire();
  state_->order.arrive(thread, to);
}

void BlockHazards::wait(std::uint32_t thread, const Handed& from) {
  state_->order.finish_acquire();
  state_->order.wait(thread, from);
}

void BlockHazards::proxy_fence(std::uint32_t thread) {
  state_->order.finish_acquire();
  state_->order.proxy_fence(thread);
}

std::uint32_t BlockHazards::epoch() const { return state_->order.epoch(); }

bool BlockHazards::has_seen(std::uint32_t thread, std::uint32_t block, std::uint32_t other, std::uint32_t epoch) const {
  return state_->order.has_seen(thread, block % static_cast<std::uint32_t>(state_->cluster), other, epoch);
}

std::uint64_t BlockHazards::remote_access(BlockHazards& issuer, std::uint32_t thread, const RemoteAccess& access) {
  State& state = *state_;
  constexpr unsigned kPiece = 16;  // findings report a range in pieces of this size
  std::uint64_t bits = issuer.state_->time() << AccessRecord::kTimeShift;
  bits |= std::uint64_t{state.site_id(access.site, access.actor)} << AccessRecord::kThreadBits | thread;
  if (access.is_store) bits |= AccessRecord::kStore;
  state.now_by_unit = access.actor > Actor::atomic;
  if (state.now_by_unit) bits |= AccessRecord::kInFlight;
  state.now = {bits};
  state.now_order = &issuer.state_->order;
  state.now_shared = true;
  state.now_bytes = kPiece;
  state.reported.clear();
  for (const std::uintptr_t piece : access.pieces)
    for (const auto& range : state.shared)
      if (range->holds(piece))
        range->visit(piece, access.bytes, [&](ShadowCell& cell, std::uintptr_t address) {
          return state.check(cell, address, !access.is_store);
        });
  return bits;
}

void BlockHazards::unit_finished(BlockHazards& issuer, std::uint32_t thread, std::span<const std::uintptr_t> pieces,
                                 std::size_t bytes, std::uint64_t name, Handed& to) {
  const std::uint64_t time = issuer.state_->time() << AccessRecord::kTimeShift;
  issuer.state_->order.finish(thread, to);
  const std::uint64_t rest = name & ((1ull << AccessRecord::kTimeShift) - 1) & ~AccessRecord::kInFlight;
  const auto finish = [&](ShadowCell& cell, std::uintptr_t) {
    bool has_changed = false;
    for (AccessRecord* access : {&cell.writer, &cell.first, &cell.second})
      if ((access->bits & ~AccessRecord::kInWriterSlot) == name) {
        access->bits = time | rest | (access->bits & AccessRecord::kInWriterSlot);
        has_changed = true;
      }
    return has_changed;
  };
  for (const std::uintptr_t piece : pieces)
    for (const auto& range : state_->shared)
      if (range->holds(piece)) range->visit(piece, bytes, finish);
}

}  // namespace rung
