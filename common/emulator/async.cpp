#include "common/emulator/async.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <string>
#include <utility>

#include "common/emulator/async_units.hpp"
#include "common/emulator/block.hpp"
#include "common/emulator/findings.hpp"
#include "common/emulator/hazards.hpp"
#include "common/emulator/symbols.hpp"
#include "common/emulator/tile_product.hpp"

namespace rung {
namespace {

constexpr SharedAddress kWindow = 1024;  // addresses below are reserved by the system
constexpr int kRankShift = 24;
constexpr SharedAddress kOffsetMask = (1u << kRankShift) - 1;
constexpr std::size_t kSectorBytes = 32;

std::string bytes_text(std::int64_t bytes) { return std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes"); }

std::string place_text(SharedAddress address) {
  return "byte " + std::to_string((address & kOffsetMask) - kWindow) + " of dynamic shared memory";
}
std::string mbarrier_text(SharedAddress barrier) { return "the mbarrier at " + place_text(barrier); }

std::string text(const std::source_location& where) { return line_of(site_of(where)).short_text(); }

/// The address in the hazard checks.
std::uintptr_t checked(SharedAddress address) { return kDynamicShared + ((address & kOffsetMask) - kWindow); }

}  // namespace

void AsyncUnits::begin_launch(std::size_t threads) {
  threads_.assign(threads, {});
  of_products_.assign(threads / kWarpSize + 1, {});
  counts_ = {};
}

BlockHazards* AsyncUnits::hazards() const { return runner_.hazards(); }

void AsyncUnits::begin_block(std::size_t block, Clusters* clusters) {
  block_ = block;
  clusters_ = clusters;
  if (clusters) clusters->units[block] = this;
  window_ = {.memory = dynamic_shared_memory, .begin = kWindow, .bytes = runner_.launch().shape.dynamic_shared_bytes};
  own_meeting_ = {};
  mbarriers_.clear();
  named_ = {};
  for (Thread& thread : threads_) thread = {};
  for (Handed& handed : of_products_) handed = {};
}

void AsyncUnits::end_block() {
  if (clusters_) clusters_->units[block_] = nullptr;
}

std::string AsyncUnits::left_at_end() const {
  for (const auto& [address, barrier] : mbarriers_) {
    if (!barrier.copies.empty())
      return "while copies into its shared memory are in flight, for the arrival at " + text(barrier.copied_for) +
             ": no thread has waited for phase " + std::to_string(barrier.phase) + " of " + mbarrier_text(address);
    if (!barrier.loads.empty())
      return "while a load by TMA into its shared memory is in flight, issued at " + text(barrier.loads.front().where) +
             ": no thread has waited for phase " + std::to_string(barrier.phase) + " of " + mbarrier_text(address);
  }
  for (const Thread& thread : threads_) {
    if (!thread.stores.empty())
      return "while a store by TMA reads its shared memory, issued at " + text(thread.stores.front().where) +
             ": its thread has not waited for it";
    if (!thread.products.empty())
      return "while a tensor core multiplies a tile of its shared memory, for the wgmma at " +
             text(thread.products.front().where) + ": its warp has not waited for it";
  }
  return "";
}

// ---- Addresses ----

SharedAddress AsyncUnits::address_of(const void* memory, std::source_location where) {
  const auto offset = static_cast<const std::byte*>(memory) - window_.memory;
  if (offset < 0 || static_cast<std::size_t>(offset) > window_.bytes)
    fail_thread(finding_kind::not_emulated, "takes a 32-bit address of what is not dynamic shared memory", where);
  return kWindow + static_cast<SharedAddress>(offset);
}

std::byte* AsyncUnits::memory_at(SharedAddress address, std::size_t bytes, std::source_location where) {
  const AsyncUnits& owner = address >> kRankShift ? peer((address >> kRankShift) - 1, where) : *this;
  const SharedAddress offset = (address & kOffsetMask) - kWindow;
  if ((address & kOffsetMask) < kWindow || offset + bytes > owner.window_.bytes)
    fail_thread(finding_kind::out_of_bounds,
                "uses " + bytes_text(static_cast<std::int64_t>(bytes)) + " at byte " +
                    std::to_string(static_cast<std::int32_t>(offset)) + " of dynamic shared memory, which has " +
                    bytes_text(static_cast<std::int64_t>(owner.window_.bytes)) + ",",
                where);
  return const_cast<std::byte*>(owner.window_.memory) + offset;
}

unsigned AsyncUnits::rank() const { return clusters_ ? static_cast<unsigned>(block_ % clusters_->size) : 0; }

AsyncUnits& AsyncUnits::peer(unsigned rank, std::source_location where) {
  const unsigned size = clusters_ ? clusters_->size : 1;
  if (rank >= size)
    fail_thread(finding_kind::out_of_bounds,
                "reaches for block " + std::to_string(rank) + " of a cluster of " + std::to_string(size), where);
  if (!clusters_) return *this;
  AsyncUnits* const there = clusters_->units[block_ / size * size + rank];
  if (!there)
    fail_thread(finding_kind::race_between_blocks,
                "reaches for a block of its cluster that may not have begun or may have ended: no barrier of the "
                "cluster stands between,",
                where);
  return *there;
}

// ---- mbarriers ----

std::int64_t AsyncUnits::Mbarrier::bytes_issued() const {
  std::int64_t sum = 0;
  for (const Box& load : loads) sum += load.bytes();
  return sum;
}

AsyncUnits::Mbarrier& AsyncUnits::mbarrier_at(SharedAddress barrier, std::source_location where) {
  const auto found = mbarriers_.find(barrier);
  if (found == mbarriers_.end())
    fail_thread(finding_kind::bad_mbarrier, "uses " + mbarrier_text(barrier) + ", which was not initialised,", where);
  return found->second;
}

AsyncUnits::Mbarrier& AsyncUnits::ready_mbarrier(SharedAddress address, AsyncUnits& from, std::source_location where) {
  Mbarrier& barrier = mbarrier_at(address, where);
  if (from.hazards() && !from.hazards()->has_seen(from.runner_.thread(), static_cast<std::uint32_t>(block_),
                                                  barrier.first_thread, barrier.first_epoch))
    fail_thread(finding_kind::bad_mbarrier,
                "uses " + mbarrier_text(address) + ", and no barrier stands between that and its initialisation,",
                where);
  return barrier;
}

void AsyncUnits::init_mbarrier(SharedAddress barrier, int count, std::source_location where) {
  memory_at(barrier, 8, where);
  if (barrier % 8 != 0 || count < 1 || count >= 1 << 20)
    fail_thread(finding_kind::bad_mbarrier,
                "initialises " + mbarrier_text(barrier) + " for " + std::to_string(count) +
                    " arrivals: it must be aligned to 8 bytes, and arrivals be 1 to 2^20 - 1,",
                where);
  Mbarrier& made = mbarriers_[barrier] = {};
  made.count = made.missing = count;
  made.first_thread = runner_.thread();
  made.first_epoch = hazards() ? hazards()->epoch() : 0;
}

/// Makes the loads and the copies that the phase waited for.
void AsyncUnits::end_phase(Mbarrier& barrier) {
  for (const Box& load : barrier.loads) {
    make_load(load);
    end_access(load, barrier.arriving);
  }
  for (const AsyncCopy& copy : barrier.copies) std::memcpy(copy.to, copy.from, copy.bytes);
  barrier.ended = barrier.arriving;
  barrier.loads.clear();
  barrier.copies.clear();
  barrier.bytes = 0;
  barrier.missing = barrier.count;
  ++barrier.phase;
}

void AsyncUnits::arrive(SharedAddress address, int bytes, AsyncUnits& from, std::source_location where,
                        std::vector<AsyncCopy> copies) {
  Mbarrier& barrier = ready_mbarrier(address, from, where);
  if (barrier.can_end()) end_phase(barrier);  // no thread has waited for it
  if (barrier.missing == 0)
    fail_thread(finding_kind::bad_mbarrier,
                "arrives at " + mbarrier_text(address) + ", of whose phase only bytes are missing: it is one arrival " +
                    "more than the " + std::to_string(barrier.count) + " of a phase,",
                where);
  if (from.hazards()) from.hazards()->arrive(from.runner_.thread(), barrier.arriving);
  --barrier.missing;
  barrier.bytes += bytes;
  barrier.copies.insert(barrier.copies.end(), copies.begin(), copies.end());
  if (!copies.empty()) barrier.copied_for = where;
  if (barrier.can_end() && barrier.loads.empty() && barrier.copies.empty()) end_phase(barrier);
}

void AsyncUnits::wait_for_phase(SharedAddress barrier, std::uint32_t parity, std::source_location where) {
  {
    const OutsideKernel aside(runner_);
    ready_mbarrier(barrier, *this, where);
  }
  runner_.converge(ConvergencePoint::mbarrier, ~0u, barrier, where);  // the kernels wait for it with a vote
  runner_.wait_for({.kind = Awaited::Kind::phase, .barrier = barrier, .count = parity}, where);
  const OutsideKernel aside(runner_);
  if (hazards()) hazards()->wait(runner_.thread(), mbarriers_.at(barrier).ended);
}

bool AsyncUnits::is_over(const Awaited& awaited) {
  switch (awaited.kind) {
    case Awaited::Kind::phase: {
      Mbarrier& barrier = mbarriers_.at(awaited.barrier);
      if (barrier.phase % 2 == awaited.count && barrier.can_end()) end_phase(barrier);
      return barrier.phase % 2 != awaited.count;
    }
    case Awaited::Kind::named:
      return named_[awaited.barrier].times > awaited.count;
    case Awaited::Kind::cluster:
      return meeting().times > awaited.count;
  }
  return true;
}

std::string AsyncUnits::text_of(const Awaited& awaited) const {
  const auto missing = [](std::size_t count, std::size_t of) {
    return std::to_string(count) + " of " + std::to_string(of) + (of == 1 ? " arrival is" : " arrivals are") +
           " missing";
  };
  switch (awaited.kind) {
    case Awaited::Kind::phase: {
      const Mbarrier& barrier = mbarriers_.at(awaited.barrier);
      std::string all = "the end of phase " + std::to_string(barrier.phase) + " of " + mbarrier_text(awaited.barrier);
      if (barrier.missing > 0)
        return all + " (" +
               missing(static_cast<std::size_t>(barrier.missing), static_cast<std::size_t>(barrier.count)) + ")";
      return all + ", which expects " + bytes_text(barrier.bytes) + " and gets " + bytes_text(barrier.bytes_issued());
    }
    case Awaited::Kind::named: {
      const NamedBarrier& barrier = named_[awaited.barrier];
      return "the named barrier " + std::to_string(awaited.barrier) + " (" +
             missing(static_cast<std::size_t>(barrier.threads - barrier.arrived),
                     static_cast<std::size_t>(barrier.threads)) +
             ")";
    }
    case Awaited::Kind::cluster:
      return "the other threads of its cluster";
  }
  return "";
}

bool AsyncUnits::lacks_only_bytes(const Awaited& awaited) const {
  return awaited.kind == Awaited::Kind::phase && mbarriers_.at(awaited.barrier).missing == 0;
}

// ---- Named barriers and clusters ----

void AsyncUnits::arrive_named(int id, int threads, bool waits, std::source_location where) {
  std::uint64_t before = 0;
  {
    const OutsideKernel aside(runner_);
    if (id < 0 || id >= static_cast<int>(named_.size()) || threads <= 0 || threads % kWarpSize != 0)
      fail_thread(finding_kind::bad_mbarrier,
                  "uses the named barrier " + std::to_string(id) + " for " + std::to_string(threads) +
                      " threads: ids are 0 to 15, threads whole warps,",
                  where);
    NamedBarrier& barrier = named_[static_cast<std::size_t>(id)];
    if (barrier.arrived > 0 && barrier.threads != threads)
      fail_thread(finding_kind::divergent_barrier,
                  "is at the named barrier " + std::to_string(id) + " for " + std::to_string(threads) +
                      " threads, at which others are for " + std::to_string(barrier.threads) + ",",
                  where);
    barrier.threads = threads;
    before = barrier.times;
    if (hazards()) hazards()->arrive(runner_.thread(), barrier.arriving);
    if (++barrier.arrived == threads) {
      barrier.arrived = 0;
      ++barrier.times;
      barrier.ended = barrier.arriving;
    }
  }
  if (!waits) return;
  runner_.wait_for({.kind = Awaited::Kind::named, .barrier = static_cast<std::uint32_t>(id), .count = before}, where);
  const OutsideKernel aside(runner_);
  if (hazards()) hazards()->wait(runner_.thread(), named_[static_cast<std::size_t>(id)].ended);
}

Clusters::Meeting& AsyncUnits::meeting() {
  return clusters_ ? clusters_->meetings[block_ / clusters_->size] : own_meeting_;
}

void AsyncUnits::meet_cluster(std::source_location where) {
  std::uint64_t before = 0;
  {
    const OutsideKernel aside(runner_);
    Clusters::Meeting& here = meeting();
    before = here.times;
    if (hazards()) hazards()->arrive(runner_.thread(), here.arriving);
    if (++here.arrived == threads_.size() * (clusters_ ? clusters_->size : 1)) {
      here.arrived = 0;
      ++here.times;
      here.ended = here.arriving;
    }
  }
  runner_.wait_for({.kind = Awaited::Kind::cluster, .count = before}, where);
  const OutsideKernel aside(runner_);
  if (hazards()) hazards()->wait(runner_.thread(), meeting().ended);
}

void AsyncUnits::fence_for_units() {
  const OutsideKernel aside(runner_);
  if (hazards()) hazards()->proxy_fence(runner_.thread());
}

void AsyncUnits::check_cluster_read(SharedAddress address, std::size_t bytes, std::source_location where) {
  const OutsideKernel aside(runner_);
  memory_at(address, bytes, where);
  if (!hazards()) return;
  const AsyncUnits& owner = address >> kRankShift ? peer((address >> kRankShift) - 1, where) : *this;
  const std::uintptr_t piece = checked(address);
  owner.hazards()->remote_access(*hazards(), runner_.thread(),
                                 {.pieces = {&piece, 1}, .bytes = bytes, .site = site_of(where)});
}

// ---- TMA ----

AsyncUnits::Inside AsyncUnits::inside(const Box& box) {
  const TiledMatrix& m = box.matrix;
  const std::int64_t byte = std::int64_t{box.x} * m.element_bytes;
  return {.first_row = std::max<std::int64_t>(box.y, 0),
          .last_row = std::min<std::int64_t>(m.rows, std::int64_t{box.y} + m.box_rows),
          .first_byte = std::max<std::int64_t>(byte, 0),
          .last_byte = std::min(m.row_bytes, byte + m.box_row_bytes)};
}

void AsyncUnits::count(const Box& box, std::uint64_t& requests, std::uint64_t& bytes, std::uint64_t& sectors) const {
  if (!runner_.launch().options.counting) return;
  ++requests;
  const auto [first_row, last_row, first_byte, last_byte] = inside(box);
  for (std::int64_t row = first_row; row < last_row && first_byte < last_byte; ++row) {
    const auto begin = reinterpret_cast<std::uintptr_t>(box.matrix.at + row * box.matrix.pitch + first_byte);
    const auto end = begin + static_cast<std::uintptr_t>(last_byte - first_byte);
    bytes += end - begin;
    sectors += (end - 1) / kSectorBytes - begin / kSectorBytes + 1;
  }
}

/// Fails the thread if the box is not in the memory that it should be in.
void AsyncUnits::check(const Box& box, const char* what) {
  if (std::int64_t{box.x} * box.matrix.element_bytes % 16 != 0)  // the hardware: an illegal instruction
    fail_thread(finding_kind::misaligned_access,
                std::string(what) + " a box from element " + std::to_string(box.x) +
                    " of a row on, which is no multiple of 16 bytes,",
                box.where);
  const int alignment = box.matrix.alignment;
  if (box.shared % static_cast<SharedAddress>(alignment) != 0)
    fail_thread(finding_kind::misaligned_access,
                std::string(what) + " a box at " + place_text(box.shared) + ", which is no multiple of " +
                    std::to_string(alignment) + ",",
                box.where);
  memory_at(box.shared, static_cast<std::size_t>(box.bytes()), box.where);
  const Inside in = inside(box);
  if (in.is_empty()) return;
  const auto begin = reinterpret_cast<std::uintptr_t>(box.matrix.at + in.first_row * box.matrix.pitch + in.first_byte);
  const auto last =
      reinterpret_cast<std::uintptr_t>(box.matrix.at + (in.last_row - 1) * box.matrix.pitch + in.last_byte - 1);
  for (const Allocation& buffer : runner_.launch().buffers)
    if (buffer.holds(begin) && buffer.holds(last)) return;
  fail_thread(finding_kind::out_of_bounds, std::string(what) + " a box of a matrix that is in no buffer,", box.where);
}

/// Checks for hazards what TMA reads or writes in global memory.
void AsyncUnits::check_global(const Box& box, bool is_store) {
  if (!hazards()) return;
  const auto [first_row, last_row, first_byte, last_byte] = inside(box);
  const std::uintptr_t site = site_of(box.where);
  for (std::int64_t row = first_row; row < last_row; ++row) {
    auto at = reinterpret_cast<std::uintptr_t>(box.matrix.at + row * box.matrix.pitch + first_byte);
    for (std::int64_t left = last_byte - first_byte; left > 0;) {
      const unsigned bytes = at % 16 == 0 && left >= 16 ? 16 : at % 4 == 0 && left >= 4 ? 4 : 1;
      hazards()->access(box.thread,
                        {.address = at, .bytes = bytes, .is_store = is_store, .by_copier = true, .site = site});
      at += bytes;
      left -= bytes;
    }
  }
}

/// From now on, TMA reads or writes the box in the shared memory of `in`.
void AsyncUnits::begin_access(Box& box, AsyncUnits& in, bool is_store) {
  box.issuer = this;
  box.thread = runner_.thread();
  if (!hazards()) return;
  const std::uintptr_t piece = checked(box.shared);
  box.name = in.hazards()->remote_access(*hazards(), box.thread,
                                         {.pieces = {&piece, 1},
                                          .bytes = static_cast<std::size_t>(box.bytes()),
                                          .is_store = is_store,
                                          .actor = Actor::copier,
                                          .site = site_of(box.where)});
}

/// TMA has read or written the box in this block's shared memory.
void AsyncUnits::end_access(const Box& box, Handed& to) {
  if (!hazards()) return;
  const std::uintptr_t piece = checked(box.shared);
  hazards()->unit_finished(*box.issuer->hazards(), box.thread, {&piece, 1}, static_cast<std::size_t>(box.bytes()),
                           box.name, to);
}

void AsyncUnits::add_load(Box box, AsyncUnits& in, SharedAddress barrier) {
  Mbarrier& signalled = in.ready_mbarrier(barrier, *this, box.where);
  begin_access(box, in, true);
  signalled.loads.push_back(box);
}

void AsyncUnits::load(SharedAddress to, const TiledMatrix& from, SharedAddress barrier, int x, int y,
                      std::uint32_t blocks, std::source_location where) {
  const OutsideKernel aside(runner_);
  const Box box{.matrix = from, .shared = to, .x = x, .y = y, .where = where, .thread = runner_.thread()};
  check(box, "loads");
  check_global(box, false);
  count(box, counts_.loads, counts_.bytes_loaded, counts_.sectors_loaded);
  if (blocks == 0) return add_load(box, *this, barrier);
  for (unsigned rank = 0; blocks >> rank; ++rank)
    if (blocks >> rank & 1) add_load(box, peer(rank, where), barrier);
}

void AsyncUnits::make_load(const Box& box) {
  const TiledMatrix& m = box.matrix;
  const auto [first_row, last_row, first_byte, last_byte] = inside(box);
  const std::int64_t byte = std::int64_t{box.x} * m.element_bytes;
  for (int row = 0; row < m.box_rows; ++row)
    for (int chunk = 0; chunk < m.box_row_bytes; chunk += 16) {
      const SharedAddress linear = box.shared + static_cast<SharedAddress>(row * m.box_row_bytes + chunk);
      const SharedAddress address = linear ^ (linear >> 7 & m.swizzle) << 4;
      std::byte* const to = const_cast<std::byte*>(window_.memory) + (address - kWindow);
      const std::int64_t y = std::int64_t{box.y} + row;
      const std::int64_t begin = std::max(byte + chunk, first_byte), end = std::min(byte + chunk + 16, last_byte);
      if (end - begin < 16 || y < first_row || y >= last_row) std::memset(to, 0, 16);
      if (y >= first_row && y < last_row && begin < end)
        std::memcpy(to + (begin - byte - chunk), m.at + y * m.pitch + begin, static_cast<std::size_t>(end - begin));
    }
}

void AsyncUnits::store(const TiledMatrix& to, SharedAddress from, int x, int y, std::source_location where) {
  const OutsideKernel aside(runner_);
  Box box{.matrix = to, .shared = from, .x = x, .y = y, .where = where};
  check(box, "stores");
  count(box, counts_.stores, counts_.bytes_stored, counts_.sectors_stored);
  begin_access(box, *this, false);
  threads_[runner_.thread()].stores.push_back(box);
}

void AsyncUnits::make_store(const Box& box) {
  const TiledMatrix& m = box.matrix;
  const auto [first_row, last_row, first_byte, last_byte] = inside(box);
  const std::int64_t byte = std::int64_t{box.x} * m.element_bytes;
  for (std::int64_t y = first_row; y < last_row; ++y)
    for (int chunk = 0; chunk < m.box_row_bytes; chunk += 16) {
      const SharedAddress linear = box.shared + static_cast<SharedAddress>((y - box.y) * m.box_row_bytes + chunk);
      const SharedAddress address = linear ^ (linear >> 7 & m.swizzle) << 4;
      const std::byte* const from = window_.memory + (address - kWindow);
      const std::int64_t begin = std::max(byte + chunk, first_byte), end = std::min(byte + chunk + 16, last_byte);
      if (begin < end)
        std::memcpy(m.at + y * m.pitch + begin, from + (begin - byte - chunk), static_cast<std::size_t>(end - begin));
    }
}

void AsyncUnits::wait_for_stores(std::size_t left) {
  const OutsideKernel aside(runner_);
  auto& stores = threads_[runner_.thread()].stores;
  const auto ended = static_cast<std::ptrdiff_t>(stores.size() - std::min(left, stores.size()));
  Handed own;
  for (std::ptrdiff_t i = 0; i < ended; ++i) {
    const Box& box = stores[static_cast<std::size_t>(i)];
    check_global(box, true);
    make_store(box);
    end_access(box, own);
  }
  stores.erase(stores.begin(), stores.begin() + ended);
}

// ---- Products ----

void AsyncUnits::fence_products() { threads_[runner_.thread()].has_fenced_products = true; }

void AsyncUnits::open_product(TileProduct product) {
  const OutsideKernel aside(runner_);
  if (!is_known_layout(product))
    fail_thread(finding_kind::not_emulated, "multiplies a tile whose layout the emulator does not know,",
                product.where);
  const std::uint32_t thread = runner_.thread();
  Thread& self = threads_[thread];
  if (!self.has_fenced_products)
    fail_thread(finding_kind::missing_wgmma_fence, "has no wgmma.fence before its first wgmma,", product.where);
  product.group = self.group;
  if (runner_.launch().options.counting && thread % kWarpSize == 0) ++counts_.products;
  if (hazards() && thread % kWarpSize == 0) {  // for all lanes
    product.name = hazards()->remote_access(*hazards(), thread,
                                            {.pieces = pieces_of(product, thread),
                                             .bytes = kPieceBytes,
                                             .actor = Actor::tensor_core,
                                             .site = site_of(product.where)});
  }
  self.products.push_back(product);
}

/// The pieces of shared memory that a thread's warp reads for a product.
std::span<const std::uintptr_t> AsyncUnits::pieces_of(const TileProduct& product, std::uint32_t thread) const {
  static thread_local std::vector<std::uintptr_t> pieces;
  pieces.clear();
  each_piece(product, static_cast<int>(thread / kWarpSize % 4),
             [&](SharedAddress piece) { pieces.push_back(checked(piece)); });
  return pieces;
}

void AsyncUnits::commit_products() { ++threads_[runner_.thread()].group; }

/// The lane that comes first computes for its warp.
void AsyncUnits::wait_for_products(std::size_t left, std::source_location where) {
  const ConvergedLanes converged = runner_.converge(ConvergencePoint::matrix, ~0u, left, where);
  const OutsideKernel aside(runner_);
  if (converged.lanes != ~0u)
    fail_thread(finding_kind::divergent_warp, "waits for matrix products without all lanes of its warp,", where);
  const Thread& self = threads_[runner_.thread()];
  std::size_t ended = 0;
  while (ended < self.products.size() && self.products[ended].group + left < self.group) ++ended;
  const std::uint32_t warp = runner_.thread() / kWarpSize;
  if (ended > 0) multiply_warp(warp * kWarpSize, ended);
  if (hazards()) hazards()->wait(runner_.thread(), of_products_[warp]);
}

void AsyncUnits::multiply_warp(std::uint32_t first_thread, std::size_t products) {
  for (std::size_t i = 0; i < products; ++i) {
    const TileProduct& product = threads_[first_thread].products[i];
    void* sums[kWarpSize];
    for (std::size_t lane = 0; lane < kWarpSize; ++lane) {
      const auto& of_lane = threads_[first_thread + lane].products;
      if (i >= of_lane.size() || of_lane[i].a != product.a || of_lane[i].b != product.b ||
          of_lane[i].adds != product.adds || of_lane[i].cols != product.cols)
        fail_thread(finding_kind::divergent_warp, "multiplies other tiles than the other lanes of its warp,",
                    product.where);
      sums[lane] = of_lane[i].sums;
    }
    try {
      multiply_tiles(product, static_cast<int>(first_thread / kWarpSize % 4), sums, window_);
    } catch (const Error& error) {
      fail_thread(finding_kind::out_of_bounds, std::string("multiplies a tile that ") + error.what() + ",",
                  product.where);
    }
    if (hazards())
      hazards()->unit_finished(*hazards(), first_thread, pieces_of(product, first_thread), kPieceBytes, product.name,
                               of_products_[first_thread / kWarpSize]);
  }
  for (std::size_t lane = 0; lane < kWarpSize; ++lane) {
    auto& of_lane = threads_[first_thread + lane].products;
    of_lane.erase(of_lane.begin(), of_lane.begin() + static_cast<std::ptrdiff_t>(products));
  }
}

// ---- The runtime ----

inline namespace emulated {
namespace {

AsyncUnits& units() { return BlockRunner::of_this_thread().units(); }

TiledMatrix line_of_bytes(const void* memory, int bytes, std::source_location where) {
  if (bytes <= 0 || bytes % 16 != 0 || reinterpret_cast<std::uintptr_t>(memory) % 16 != 0)
    fail_thread(finding_kind::misaligned_access,
                "copies " + bytes_text(bytes) + ": a copy in bulk takes multiples of 16 bytes, from and to such,",
                where);
  return {.at = static_cast<std::byte*>(const_cast<void*>(memory)),
          .pitch = bytes,
          .row_bytes = bytes,
          .rows = 1,
          .element_bytes = 1,
          .box_row_bytes = bytes,
          .box_rows = 1,
          .alignment = 16};
}

}  // namespace

SharedAddress shared_address_of(const void* memory, std::source_location where) {
  return units().address_of(memory, where);
}
void* shared_memory_at(SharedAddress address, std::size_t bytes, std::source_location where) {
  return units().memory_at(address, bytes, where);
}
SharedAddress address_in_block(int rank, SharedAddress address) {
  return static_cast<SharedAddress>(rank + 1) << kRankShift | (address & kOffsetMask);
}
void init_mbarrier(SharedAddress barrier, int count, std::source_location where) {
  const OutsideKernel aside(BlockRunner::of_this_thread());
  units().init_mbarrier(barrier, count, where);
}
void arrive_at_mbarrier(SharedAddress barrier, int bytes, int block, std::source_location where) {
  const OutsideKernel aside(BlockRunner::of_this_thread());
  AsyncUnits& own = units();
  (block < 0 ? own : own.peer(static_cast<unsigned>(block), where)).arrive(barrier, bytes, own, where);
}
void arrive_at_mbarrier_after_copies(SharedAddress barrier, std::source_location where) {
  BlockRunner& runner = BlockRunner::of_this_thread();
  std::vector<AsyncCopy> copies = runner.take_copies();
  const OutsideKernel aside(runner);
  units().arrive(barrier, 0, units(), where, std::move(copies));
}
void wait_for_phase(SharedAddress barrier, std::uint32_t parity, std::source_location where) {
  units().wait_for_phase(barrier, parity, where);
}
void arrive_at_named_barrier(int id, int threads, bool waits, std::source_location where) {
  units().arrive_named(id, threads, waits, where);
}
void meet_cluster(std::source_location where) { units().meet_cluster(where); }
int rank_in_cluster() { return static_cast<int>(units().rank()); }
void check_cluster_read(SharedAddress address, std::size_t bytes, std::source_location where) {
  units().check_cluster_read(address, bytes, where);
}
[[gnu::noinline]] void release_flag(unsigned* flag, unsigned value) {
  BlockRunner::of_this_thread().check_flag(flag, true, __builtin_return_address(0));
  std::atomic_ref(*flag).store(value);
}
[[gnu::noinline]] unsigned acquire_flag(const unsigned* flag) {
  BlockRunner& runner = BlockRunner::of_this_thread();
  runner.yield();  // before the check: what is released meanwhile must count as observed
  runner.check_flag(flag, false, __builtin_return_address(0));
  return std::atomic_ref(const_cast<unsigned&>(*flag)).load();
}
void load_box(SharedAddress to, const TiledMatrix& from, SharedAddress barrier, int x, int y, std::uint32_t blocks,
              std::source_location where) {
  units().load(to, from, barrier, x, y, blocks, where);
}
void load_line(SharedAddress to, const void* from, int bytes, SharedAddress barrier, std::source_location where) {
  units().load(to, line_of_bytes(from, bytes, where), barrier, 0, 0, 0, where);
}
void store_line(void* to, SharedAddress from, int bytes, std::source_location where) {
  units().store(line_of_bytes(to, bytes, where), from, 0, 0, where);
}
void store_box(const TiledMatrix& to, SharedAddress from, int x, int y, std::source_location where) {
  units().store(to, from, x, y, where);
}
void wait_for_stores(std::size_t left) { units().wait_for_stores(left); }
void fence_for_units() { units().fence_for_units(); }
void fence_products() { units().fence_products(); }
void open_product(TileProduct product) { units().open_product(product); }
void commit_products() { units().commit_products(); }
void wait_for_products(std::size_t left, std::source_location where) { units().wait_for_products(left, where); }

}  // namespace emulated
}  // namespace rung
