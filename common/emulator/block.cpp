#include "common/emulator/block.hpp"

#include <link.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <thread>
#include <utility>

#include "common/emulator/findings.hpp"
#include "common/emulator/runtime.hpp"
#include "common/emulator/symbols.hpp"
#include "common/problem/problem.hpp"

namespace rung {
inline namespace emulated {

// What kernels see as the constants threadIdx, blockIdx, blockDim, gridDim and dynamic_shared_memory (runtime.hpp).
constinit thread_local uint3 thread_index asm("rung_threadIdx"){}, block_index asm("rung_blockIdx"){};
constinit thread_local uint3 block_extent asm("rung_blockDim"){}, grid_extent asm("rung_gridDim"){};
constinit thread_local std::byte* block_dynamic_shared asm("rung_dynamic_shared_memory") = nullptr;

}  // namespace emulated

namespace {

/// The thread_local variables, on this OS thread, of the module that contains `code`.
AddressRange thread_locals_of(const void* code) {
  struct Search {
    std::uintptr_t code;
    AddressRange found;
  } search{reinterpret_cast<std::uintptr_t>(code), {}};
  dl_iterate_phdr(
      [](dl_phdr_info* module, std::size_t, void* data) {
        auto& wanted = *static_cast<Search*>(data);
        bool is_here = false;
        AddressRange locals;
        for (const auto& part : std::span(module->dlpi_phdr, module->dlpi_phnum)) {
          if (part.p_type == PT_LOAD)
            is_here |= AddressRange{module->dlpi_addr + part.p_vaddr, part.p_memsz}.holds(wanted.code);
          if (part.p_type == PT_TLS) locals = {reinterpret_cast<std::uintptr_t>(module->dlpi_tls_data), part.p_memsz};
        }
        if (is_here) wanted.found = locals;
        return is_here ? 1 : 0;
      },
      &search);
  return search.found;
}

/// "tiled.cu:27"
std::string place_text(const std::source_location& where) {
  const std::string path = where.file_name();
  return path.substr(path.find_last_of('/') + 1) + ":" + std::to_string(where.line());
}

bool same_place(const std::source_location& a, const std::source_location& b) {
  return a.line() == b.line() && a.column() == b.column() &&
         (a.file_name() == b.file_name() || std::strcmp(a.file_name(), b.file_name()) == 0);
}

}  // namespace

Index3 index_in(const Extent& extent, std::size_t linear) {
  const auto row = linear / extent.x;
  return {static_cast<unsigned>(linear % extent.x), static_cast<unsigned>(row % extent.y),
          static_cast<unsigned>(row / extent.y)};
}

std::string text(const Index3& i) {
  return "(" + std::to_string(i.x) + ", " + std::to_string(i.y) + ", " + std::to_string(i.z) + ")";
}

std::string text_of_thread(const Launch& shape, std::size_t block, std::size_t thread) {
  return "block " + text(index_in(shape.grid, block)) + ", thread " + text(index_in(shape.block, thread));
}

BlockRunner& BlockRunner::of_this_thread() {
  static thread_local BlockRunner runner;
  return runner;
}

BlockRunner::~BlockRunner() {
  ending_ = true;
  for (Fiber* fiber : idle_) fiber->resume();
}

void BlockRunner::begin(const GridLaunch& launch) {
  launch_ = &launch;
  const Extent& block = launch.shape.block;
  threads_.assign(block.count(), {});
  values_.assign(threads_.size() + kWarpSize, 0);
  const std::size_t warps = (threads_.size() + kWarpSize - 1) / kWarpSize;
  warp_streams_.assign(warps, {});
  logs_.resize(1);
  logs_.resize(warps + 1);
  if (!logs_[0]) logs_[0] = std::make_unique<WarpLog>();
  for (std::size_t i = 0; i < threads_.size(); ++i) threads_[i].index = index_in(block, i);
  // CUDA aligns shared memory beyond the needs of any element; with 256 bytes it starts at bank 0.
  dynamic_shared_.resize(launch.shape.dynamic_shared_bytes + 256);
  const auto begin = (reinterpret_cast<std::uintptr_t>(dynamic_shared_.data()) + 255) & ~std::uintptr_t{255};
  block_dynamic_shared = reinterpret_cast<std::byte*>(begin);

  trace = Trace{.static_shared = thread_locals_of(launch.kernel),
                .dynamic_shared = {begin, launch.shape.dynamic_shared_bytes},
                .counting = launch.options.counting,
                .lines = launch.options.lines};
  for (std::size_t i = 0; i < std::min<std::size_t>(Trace::kBuffers, launch.buffers.size()); ++i)
    trace.buffers[i] = {launch.buffers[i].begin, launch.buffers[i].bytes};
  if (launch.hazards) {
    trace.hazards = &hazards_;
    hazards_.begin_launch(*launch.hazards, {kStaticShared, trace.static_shared.bytes},
                          {kDynamicShared, launch.shape.dynamic_shared_bytes}, static_cast<unsigned>(threads_.size()),
                          launch.clusters ? launch.clusters->size : 1);
  }
  const Extent& grid = launch.shape.grid;
  grid_extent = {grid.x, grid.y, grid.z};
  block_extent = {block.x, block.y, block.z};
  units_.begin_launch(threads_.size());
  barriers_ = warp_barriers_ = shuffle_count_ = 0;
  sites_.take();  // drop what a failed launch left
  take_operation_sites();
}

Counts BlockRunner::finish() {
  Counts counts;
  counts.fp32 = trace.fp32;
  counts.fp64 = trace.fp64;
  counts.tensor = trace.tensor;
  counts.barriers = barriers_;
  counts.warp_barriers = warp_barriers_;
  counts.shuffles = shuffle_count_;
  counts.bulk = units_.take_counts();
  counts.sites = sites_.take();
  counts.operation_sites = take_operation_sites();
  trace = Trace{};
  return counts;
}

void BlockRunner::run(std::size_t block, std::size_t rank) {
  block_ = block;
  permutations_ = 0;
  stream_.clear();
  for (const auto& log : logs_)
    if (log) log->clear();
  for (Thread& thread : threads_) {
    thread.state = State::fresh;
    thread.unchanged = thread.polled = nullptr;
    thread.copy_group = 0;
    thread.copies.clear();
  }
  const auto [x, y, z] = index_in(launch_->shape.grid, block);
  block_index = {x, y, z};
  trace.budget = launch_->options.budget;
  // Undefined, as on a GPU; NaN makes uninitialised reads visible in the result.
  std::memset(block_dynamic_shared, 0xff, launch_->shape.dynamic_shared_bytes);
  if (launch_->hazards) hazards_.begin_block(static_cast<std::uint32_t>(block));

  const auto size = static_cast<unsigned>(threads_.size());
  Turns* const turns = launch_->turns;
  if (turns && !turns->await(rank)) throw Stopped();
  units_.begin_block(block, launch_->clusters);
  unsigned polls = 0;
  do {
    for (const unsigned warp : permuted(warps_, 0, (size + kWarpSize - 1) / kWarpSize))
      run_warp(warp * kWarpSize, std::min(size, (warp + 1) * kWarpSize));
    interleave_requests();
    constexpr unsigned kPatience = 64;
    polls = is_polling() ? polls + 1 : 0;
    if (polls > kPatience && !turns) await_other_blocks(rank);
    bool is_moving = wake_yielded() | wake_waiting();
    const bool is_waiting = std::any_of(threads_.begin(), threads_.end(),
                                        [](const Thread& thread) { return thread.state == State::waiting; });
    if (!is_moving && !is_waiting) {
      if (!release_barrier()) break;
      is_moving = true;
    }
    if (!is_moving && (!turns || turns->is_stuck())) fail_deadlock();
    if (turns && !turns->pass(rank, is_moving)) {
      unwind();
      throw Stopped();
    }
  } while (true);
  if (const std::string left = units_.left_at_end(); !left.empty()) {
    fail({.kind = finding_kind::never_awaited,
          .first = "block " + text(index_in(launch_->shape.grid, block)) + " ends " + left});
    abandon_block();
  }
  units_.end_block();
  if (turns) turns->leave(rank);
  if (launch_->caches) launch_->caches->add_block(rank, std::move(stream_));
}

/// Runs a warp until each of its threads waits at a barrier, has yielded or has exited.
void BlockRunner::run_warp(unsigned first, unsigned last) {
  const unsigned warp = first / kWarpSize;
  const std::span<const unsigned> order = permuted(lanes_, first, last);
  log_ = (logs_[warp + 1] ? logs_[warp + 1] : logs_[0]).get();
  log_->feed_to(launch_->caches ? &warp_streams_[warp] : nullptr, launch_->options.caches);
  for (;;) {
    to_run_ = order;
    run_ready();
    if (launch_->options.counting) merge(first, last);
    const bool has_room = wake_log_full(first, last);
    const bool has_converged = release_converged(first, last);
    if (has_room || has_converged || wake_paused(first, last)) continue;
    if (lanes_in(first, last, State::log_full)) {
      // They wait for lanes that wait for them, or for other warps: replay them as diverged, unless a lane will
      // continue.
      if (lanes_in(first, last, State::yielded) && log_->has_patience()) return keep_log(warp);
      log_->merge_past_waiting(lanes_in(first, last, State::fresh), 0, sites_);
      if (wake_log_full(first, last)) continue;
    }
    if (lanes_in(first, last, State::yielded) | lanes_in(first, last, State::waiting)) return keep_log(warp);
    if (lanes_in(first, last, State::converging)) fail_divergent_warp(first, last);
    return;
  }
}

/// The warp keeps its log, in which lanes that are behind meet the others later.
void BlockRunner::keep_log(unsigned warp) {
  if (!launch_->options.counting || logs_[warp + 1]) return;
  logs_[warp + 1] = std::move(logs_[0]);
  logs_[0] = std::make_unique<WarpLog>();
}

/// Merges the requests that the warps have made since the last barrier, round-robin.
void BlockRunner::interleave_requests() {
  if (!launch_->caches) return;
  for (std::size_t i = 0, left = 1; left > 0; ++i) {
    left = 0;
    for (const RequestStream& warp : warp_streams_)
      if (i < warp.size()) {
        stream_.add(warp, i);
        ++left;
      }
  }
  for (RequestStream& warp : warp_streams_) warp.clear();
}

/// Replays the lanes' logs as far as it is certain which lanes are next.
void BlockRunner::merge(unsigned first, unsigned last) {
  std::uint32_t unfinished = 0;
  for (unsigned t = first; t < last; ++t) {
    const State state = threads_[t].state;
    // A GPU does not make lanes that have left a loop of attempts wait for those that are still in it.
    const bool is_paused = state == State::paused && !threads_[t].is_trying_again;
    if (is_paused || state == State::log_full || state == State::yielded || state == State::waiting)
      unfinished |= 1u << (t - first);
    if (state == State::converging) log_->wait_at(static_cast<int>(t - first), threads_[t].position);
  }
  const std::uint32_t all = last - first == kWarpSize ? ~0u : (1u << (last - first)) - 1;
  log_->merge(all, unfinished, sites_);
}

/// Makes ready the lanes whose logs have room again.
bool BlockRunner::wake_log_full(unsigned first, unsigned last) {
  bool any = false;
  for (unsigned t = first; t < last; ++t)
    if (threads_[t].state == State::log_full && log_->has_room(static_cast<int>(t - first))) {
      threads_[t].state = State::ready;
      any = true;
    }
  if (any) log_->renew_patience();
  return any;
}

/// Makes ready the lanes that have paused.
bool BlockRunner::wake_paused(unsigned first, unsigned last) {
  bool any = false;
  for (unsigned t = first; t < last; ++t)
    if (threads_[t].state == State::paused) {
      threads_[t].state = State::ready;
      any = true;
    }
  return any;
}

/// The lanes of a warp that are in this state; for State::fresh, all lanes.
std::uint32_t BlockRunner::lanes_in(unsigned first, unsigned last, State state) const {
  std::uint32_t lanes = 0;
  for (unsigned t = first; t < last; ++t)
    if (state == State::fresh || threads_[t].state == state) lanes |= 1u << (t - first);
  return lanes;
}

/// Runs each thread in to_run_ that is ready.
void BlockRunner::run_ready() {
  while (!to_run_.empty()) {
    Thread& thread = threads_[to_run_.front()];
    if (thread.state == State::fresh) {
      idle_fiber().resume();  // runs this thread, and those after it until one of them has to wait
    } else if (thread.state == State::ready) {
      current_ = to_run_.front();
      to_run_ = to_run_.subspan(1);
      thread.fiber->resume();
    } else {
      to_run_ = to_run_.subspan(1);
    }
    if (crash_) report_crash();
    if (failure_) abandon_block();
  }
}

/// The body of a fiber: runs threads that have not started.
void BlockRunner::serve(Fiber& fiber) {
  while (!ending_) {
    while (!failure_ && !to_run_.empty() && threads_[to_run_.front()].state == State::fresh) {
      const unsigned thread = to_run_.front();
      to_run_ = to_run_.subspan(1);
      run_here(thread, fiber);
    }
    idle_.push_back(&fiber);
    fiber.suspend();
  }
}

void BlockRunner::run_here(unsigned number, Fiber& fiber) {
  Thread& thread = threads_[number];
  thread.fiber = &fiber;
  thread.position = 0;
  enter(number);
  try {
    launch_->body(reinterpret_cast<const void*>(launch_->closure.begin));
  } catch (const Abandoned&) {
  } catch (const Fault& fault) {
    running_ = false;
    fail(fault.finding);
  } catch (const std::exception& error) {
    running_ = false;
    fail(thread, finding_kind::exception, std::string(": ") + error.what());
  } catch (...) {
    running_ = false;
    fail(thread, finding_kind::exception, ": of unknown type");
  }
  leave();
  thread.state = State::exited;
  if (!fiber.intact())
    fail(thread, finding_kind::stack_overflow,
         ": the thread's local variables or its recursion need more stack than there is");
}

Fiber& BlockRunner::idle_fiber() {
  if (idle_.empty()) {
    fibers_.push_back(std::make_unique<Fiber>(stacks_.next(), [this](Fiber& self) { serve(self); }));
    return *fibers_.back();
  }
  Fiber& fiber = *idle_.back();
  idle_.pop_back();
  return fiber;
}

/// By the thread itself, on its own stack: from here on, code counts as the kernel's.
void BlockRunner::enter(unsigned thread) {
  current_ = thread;
  const Index3& index = threads_[thread].index;
  thread_index = {index.x, index.y, index.z};
  trace.position = threads_[thread].position;
  trace.bad_subscript = nullptr;
  if (launch_->options.counting) {
    log_->open(static_cast<int>(thread % kWarpSize));
    trace.end = launch_->hazards ? trace.key : trace.full;  // with hazard checks every access takes the slow path
  }
  running_ = true;
}

[[gnu::always_inline]] inline void BlockRunner::leave() {
  running_ = false;
  threads_[current_].position = trace.position;
  if (!launch_->options.counting) return;
  log_->close(static_cast<int>(current_ % kWarpSize));
  trace.key = trace.end = trace.full = nullptr;
}

[[gnu::always_inline]] inline void BlockRunner::suspend(State why) {
  if (abandoning_) throw Abandoned{};
  Thread& self = threads_[current_];
  self.state = self.suspended = why;
  leave();
  self.fiber->suspend();
  enter(current_);
  if (abandoning_) throw Abandoned{};
}

[[gnu::always_inline]] inline int BlockRunner::wait_at_barrier(int value, std::source_location where) {
  Thread& self = threads_[current_];
  self.where = where;
  self.value = static_cast<std::uint64_t>(value);
  suspend(State::at_barrier);
  return barrier_sum_;
}

ConvergedLanes BlockRunner::converge(ConvergencePoint point, std::uint32_t mask, std::uint64_t value,
                                     std::source_location where) {
  Thread& self = threads_[current_];
  const unsigned lane = current_ % kWarpSize;
  if (point != ConvergencePoint::activemask && !(mask >> lane & 1)) {
    const OutsideKernel aside(*this);
    throw Fault({.kind = finding_kind::divergent_warp,
                 .first = text_of_running() + " calls with a mask that lacks its own lane, at " + place_text(where)});
  }
  self.where = where;
  self.point = point;
  self.mask = mask;
  self.value = value;
  suspend(State::converging);
  return {self.mask, values_.data() + (current_ - lane)};
}

/// A warp continues as a whole: a lane that need not wait does so if other lanes of its warp wait.
void BlockRunner::wait_for(const Awaited& awaited, std::source_location where) {
  {
    const OutsideKernel aside(*this);
    if (units_.is_over(awaited) && !is_any_lane_waiting()) return;
  }
  Thread& self = threads_[current_];
  self.where = where;
  self.awaited = awaited;
  suspend(State::waiting);
}

/// Whether a thread of the running thread's warp waits for an mbarrier, a named barrier or the cluster.
bool BlockRunner::is_any_lane_waiting() const {
  const std::size_t first = current_ / kWarpSize * kWarpSize;
  const std::size_t last = std::min<std::size_t>(threads_.size(), first + kWarpSize);
  return std::any_of(threads_.begin() + first, threads_.begin() + last,
                     [](const Thread& thread) { return thread.state == State::waiting; });
}

void BlockRunner::wait_for_log() { suspend(State::log_full); }

void BlockRunner::stop(Finding finding) {
  running_ = false;
  fail(std::move(finding));
  suspend(State::stopped);
  std::abort();  // a fiber that is given up is not resumed
}

void BlockRunner::stop_crashed(int signal, std::uintptr_t code) {
  running_ = false;
  crash_ = signal;
  crashed_at_ = code;
  suspend(State::stopped);
  std::abort();
}

namespace {

/// Whether it is the instruction of require_initialised() (gpu/simt/emulator_value.hpp).
bool is_uninitialised_read(int signal, std::uintptr_t code) {
  constexpr unsigned char kInstruction[] = {0x0f, 0xb9, 0xc0};
  return signal == SIGILL && code != 0 &&
         std::memcmp(reinterpret_cast<const void*>(code), kInstruction, sizeof kInstruction) == 0;
}

}  // namespace

void BlockRunner::report_crash() {
  const int signal = std::exchange(crash_, 0);
  const bool is_uninitialised = is_uninitialised_read(signal, crashed_at_);
  const char* const what = is_uninitialised   ? " reads a variable (reg<T>) that has no value yet,"
                           : signal == SIGFPE ? " divides a whole number by 0, or the least one by -1,"
                                              : " uses an address that is no memory,";
  SourceLine line = line_of(crashed_at_ + 1);  // after the instruction, as the return address of a call
  if (line.file.empty()) line = line_of(threads_[current_].position);
  fail(threads_[current_], is_uninitialised ? finding_kind::uninitialized_register : finding_kind::crash,
       what + (" at " + line.short_text()));
}

void BlockRunner::yield() {
  threads_[current_].is_polling = false;
  suspend(State::yielded);
}

/// Until no other lane of the warp can continue without it.
void BlockRunner::pause(const void* element) {
  {
    const OutsideKernel aside(*this);
    threads_[current_].is_trying_again = threads_[current_].unchanged == element;
  }
  suspend(State::paused);
}

/// Of a thread whose atomic changed nothing in this element: it may be waiting for another thread, which must then run.
/// One that sees the same value again is taken for such a thread; so is, in the end, one that tries many elements.
void BlockRunner::wait_for_change(const void* element, std::uint64_t seen) {
  constexpr unsigned kMostTries = 64;
  bool is_waiting = false;
  {
    const OutsideKernel aside(*this);
    Thread& self = threads_[current_];
    is_waiting = (self.unchanged == element && self.seen == seen) || ++self.tries % kMostTries == 0;
    self.unchanged = element;
    self.seen = seen;
  }
  if (is_waiting) suspend_at(element, seen);
}

void BlockRunner::yield_before_load(const void* element, std::size_t bytes) {
  std::uint64_t found = 0;
  std::memcpy(&found, element, std::min(bytes, sizeof found));
  suspend_at(element, found);
}

void BlockRunner::suspend_at(const void* element, std::uint64_t found) {
  Thread& self = threads_[current_];
  self.is_polling = self.polled == element && self.found == found;
  self.polled = element;
  self.found = found;
  suspend(State::yielded);
}

void BlockRunner::fence(bool of_block_only) {
  if (launch_->hazards) {
    const OutsideKernel aside(*this);
    hazards_.fence(current_, of_block_only);
  }
  yield();
}

void BlockRunner::open_copy(void* to, const void* from, std::size_t bytes) {
  const OutsideKernel aside(*this);
  Thread& self = threads_[current_];
  self.copies.push_back({{to, from, bytes}, self.copy_group});
}

/// For the hazard checks: a store of a flag that releases, or a load that acquires.
void BlockRunner::check_flag(const unsigned* flag, bool is_store, const void* site) {
  if (!launch_->hazards) return;
  const OutsideKernel aside(*this);
  hazards_.access(current_, {.address = reinterpret_cast<std::uintptr_t>(flag),
                             .bytes = sizeof *flag,
                             .is_store = is_store,
                             .is_volatile = true,
                             .site = reinterpret_cast<std::uintptr_t>(site)});
}

void BlockRunner::commit_copies() { ++threads_[current_].copy_group; }

std::vector<AsyncCopy> BlockRunner::take_copies() {
  const OutsideKernel aside(*this);
  Thread& self = threads_[current_];
  std::vector<AsyncCopy> taken(self.copies.begin(), self.copies.end());
  self.copies.clear();
  if (launch_->hazards) hazards_.copies_arrived(current_, 0);
  return taken;
}

/// Copies are made when they are waited for, so that a kernel that does not wait reads the previous content.
void BlockRunner::wait_for_copies(std::size_t latest_groups_left) {
  const OutsideKernel aside(*this);
  Thread& self = threads_[current_];
  std::size_t arrived = 0;
  while (arrived < self.copies.size() && self.copies[arrived].group + latest_groups_left < self.copy_group) {
    const Copy& copy = self.copies[arrived++];
    std::memcpy(copy.to, copy.from, copy.bytes);
  }
  self.copies.erase(self.copies.begin(), self.copies.begin() + static_cast<std::ptrdiff_t>(arrived));
  if (launch_->hazards) hazards_.copies_arrived(current_, self.copies.size());
}

/// Releases groups of lanes that are complete at a convergence point.
bool BlockRunner::release_converged(unsigned first, unsigned last) {
  const std::uint32_t waiting = lanes_in(first, last, State::converging);
  if (!waiting) return false;
  const std::uint32_t ended = lanes_in(first, last, State::exited) | ~lanes_in(first, last, State::fresh);
  bool any = false;
  for (unsigned t = first; t < last; ++t) {
    const Thread& thread = threads_[t];
    if (thread.state != State::converging || thread.point == ConvergencePoint::activemask) continue;
    const std::uint32_t wanted = thread.mask & ~ended;
    std::uint32_t present = 0;
    for (unsigned other = first; other < last; ++other) {
      const Thread& that = threads_[other];
      if (that.state == State::converging && that.point == thread.point && that.mask == thread.mask)
        present |= 1u << (other - first);
    }
    if ((present & wanted) == wanted) any |= release_lanes(first, wanted);
  }
  return any || release_activemask(first, last);
}

bool BlockRunner::release_lanes(unsigned first, std::uint32_t lanes) {
  const ConvergencePoint kind = threads_[first + std::countr_zero(lanes)].point;
  for (std::uint32_t left = lanes; left; left &= left - 1) {
    const unsigned t = first + std::countr_zero(left);
    values_[t] = threads_[t].value;
    threads_[t].mask = lanes;
    threads_[t].state = State::ready;
  }
  if (kind == ConvergencePoint::barrier) {
    ++warp_barriers_;
    if (launch_->hazards) hazards_.warp_barrier(first / kWarpSize, lanes);
  } else if (kind < ConvergencePoint::matrix) {
    ++shuffle_count_;
  }
  return true;
}

/// Once no other lane can arrive, those that wait at the same __activemask() are the active ones.
bool BlockRunner::release_activemask(unsigned first, unsigned last) {
  if (lanes_in(first, last, State::ready) | lanes_in(first, last, State::log_full)) return false;
  const Thread* earliest = nullptr;
  for (unsigned t = first; t < last; ++t) {
    const Thread& thread = threads_[t];
    if (thread.state == State::converging && thread.point == ConvergencePoint::activemask &&
        (!earliest || thread.position < earliest->position))
      earliest = &thread;
  }
  if (!earliest) return false;
  std::uint32_t lanes = 0;
  for (unsigned t = first; t < last; ++t) {
    const Thread& thread = threads_[t];
    if (thread.state == State::converging && thread.point == ConvergencePoint::activemask &&
        thread.position == earliest->position)
      lanes |= 1u << (t - first);
  }
  for (std::uint32_t left = lanes; left; left &= left - 1) {
    Thread& thread = threads_[first + std::countr_zero(left)];
    thread.mask = lanes;
    thread.state = State::ready;
  }
  return true;
}

/// " waits at the shuffle at tiled.cu:30": what a suspended thread waits for.
std::string BlockRunner::waiting_text(const Thread& thread) const {
  const std::string place = " at " + place_text(thread.where);
  if (thread.state == State::at_barrier) return " waits for the block" + place;
  if (thread.state == State::waiting) return " waits for " + units_.text_of(thread.awaited) + place;
  static constexpr const char* kNames[] = {"the warp barrier",       "the shuffle",  "the vote",    "__activemask",
                                           "the matrix instruction", "the election", "the mbarrier"};
  return std::string(" waits at ") + kNames[static_cast<int>(thread.point)] + place;
}

/// Fails the block if a lane waits at a convergence point where a lane of its mask cannot arrive.
void BlockRunner::fail_divergent_warp(unsigned first, unsigned last) {
  for (unsigned t = first; t < last; ++t) {
    const Thread& thread = threads_[t];
    if (thread.state != State::converging) continue;
    for (unsigned other = first; other < last; ++other) {
      const Thread& that = threads_[other];
      if (!(thread.mask >> (other - first) & 1) || that.state == State::exited) continue;
      if (that.state == State::converging && that.point == thread.point && that.mask == thread.mask) continue;
      fail(thread, finding_kind::divergent_warp, waiting_text(thread),
           "thread " + text(that.index) + ", named in its mask," + waiting_text(that));
      abandon_block();
    }
  }
}

/// Whether threads of the block have yielded and all of them find what they found before.
bool BlockRunner::is_polling() const {
  bool any = false;
  for (const Thread& thread : threads_)
    if (thread.state == State::yielded) {
      if (!thread.is_polling) return false;
      any = true;
    }
  return any;
}

/// The block polls, so that only another one can help it. It leaves the processor to that one, and pays for the time as
/// if it had run, so that one that waits for ever ends no later.
void BlockRunner::await_other_blocks(std::size_t rank) {
  constexpr std::uint64_t kBasicBlocks = 1024;  // in about the time that it rests
  if (launch_->failed_rank < rank) {
    unwind();
    throw Stopped();
  }
  std::this_thread::sleep_for(std::chrono::microseconds(10));
  trace.budget = trace.budget > kBasicBlocks ? trace.budget - kBasicBlocks : 1;
}

/// Makes ready the threads that have yielded.
bool BlockRunner::wake_yielded() {
  bool any = false;
  for (Thread& thread : threads_)
    if (thread.state == State::yielded) {
      thread.state = State::ready;
      any = true;
    }
  return any;
}

/// Makes ready the threads whose mbarrier, named barrier or cluster has what they wait for.
bool BlockRunner::wake_waiting() {
  bool any = false;
  for (Thread& thread : threads_)
    if (thread.state == State::waiting && units_.is_over(thread.awaited)) {
      thread.state = State::ready;
      any = true;
    }
  return any;
}

/// No thread can continue: fails the block at the first thread that waits, and names another one that waits elsewhere.
void BlockRunner::fail_deadlock() {
  const Thread* first = nullptr;
  const Thread* second = nullptr;
  for (const Thread& thread : threads_) {
    if (thread.state != State::waiting && thread.state != State::at_barrier) continue;
    if (!first && thread.state == State::waiting) first = &thread;
    if (first && !second && !same_place(thread.where, first->where)) second = &thread;
  }
  const bool has_other_bytes = first->state == State::waiting && units_.lacks_only_bytes(first->awaited);
  fail(*first, has_other_bytes ? finding_kind::bad_mbarrier : finding_kind::deadlock, waiting_text(*first),
       second ? "thread " + text(second->index) + waiting_text(*second) : "");
  abandon_block();
}

/// Releases the threads that wait at the block barrier; false if there are none: then the block has ended. Threads that
/// have exited count as arrived, as on the hardware. It is a fault if threads wait at different barriers.
bool BlockRunner::release_barrier() {
  const Thread* first = nullptr;
  unsigned last_warp = ~0u;
  barrier_sum_ = 0;
  for (unsigned t = 0; t < threads_.size(); ++t) {
    Thread& thread = threads_[t];
    if (thread.state != State::at_barrier) continue;
    if (!first) first = &thread;
    if (!same_place(thread.where, first->where)) {
      fail(thread, finding_kind::divergent_barrier, waiting_text(thread),
           "thread " + text(first->index) + waiting_text(*first));
      abandon_block();
    }
    barrier_sum_ += static_cast<int>(thread.value);
    if (std::exchange(last_warp, t / kWarpSize) != t / kWarpSize) ++barriers_;
  }
  if (first && launch_->early_exits) report_early_exits();
  for (Thread& thread : threads_)
    if (thread.state == State::at_barrier) thread.state = State::ready;
  if (first && launch_->hazards) hazards_.block_barrier();
  return first != nullptr;
}

/// A barrier is one of whole warps: lanes that wait at it while others of their warp have left the kernel are a fault,
/// even if the GPU at hand continues. Source: NVIDIA PTX ISA, barrier.sync and its .aligned.
void BlockRunner::report_early_exits() {
  for (unsigned first = 0; first < threads_.size(); first += kWarpSize) {
    const unsigned last = std::min<unsigned>(static_cast<unsigned>(threads_.size()), first + kWarpSize);
    const std::uint32_t waiting = lanes_in(first, last, State::at_barrier), gone = lanes_in(first, last, State::exited);
    if (!waiting || !gone) continue;
    const Thread& one = threads_[first + std::countr_zero(waiting)];
    const Thread& other = threads_[first + std::countr_zero(gone)];
    const auto number = static_cast<std::size_t>(&one - threads_.data());
    launch_->early_exits->add(one.where, block_,
                              {.kind = finding_kind::divergent_barrier,
                               .first = text_of_thread(launch_->shape, block_, number) + waiting_text(one),
                               .second = "thread " + text(other.index) + " of its warp has left the kernel"});
  }
}

void EarlyExits::add(const std::source_location& where, std::size_t block, Finding finding) {
  const std::scoped_lock lock(mutex_);
  const auto [place, is_new] =
      by_place_.try_emplace({where.file_name(), where.line(), where.column()}, Entry{block, finding});
  if (is_new) return;
  Entry& entry = place->second;
  finding.occurrences = entry.finding.occurrences + 1;
  if (block < entry.block) entry = {block, std::move(finding)};
  entry.finding.occurrences = finding.occurrences;
}

std::vector<Finding> EarlyExits::take() {
  std::vector<Finding> all;
  for (auto& [place, entry] : by_place_) all.push_back(std::move(entry.finding));
  by_place_.clear();
  return all;
}

void BlockRunner::fail(const Thread& thread, FindingKind kind, const std::string& what, const std::string& second) {
  const auto number = static_cast<std::size_t>(&thread - threads_.data());
  fail(Finding{.kind = kind, .first = text_of_thread(launch_->shape, block_, number) + what, .second = second});
}

/// Records the failure, if it is the first of the block.
void BlockRunner::fail(Finding finding) {
  if (!failure_) failure_ = std::make_unique<Finding>(std::move(finding));
}

/// Unwinds the suspended threads, and throws the failure.
void BlockRunner::abandon_block() {
  unwind();
  const std::unique_ptr<Finding> failure = std::move(failure_);
  throw Fault(*failure);
}

/// Ends the suspended threads, so that their fibers can be reused. Those that were stopped at a basic block, where the
/// compiler expects no exception, are given up as they are.
void BlockRunner::unwind() {
  abandoning_ = true;
  for (unsigned t = 0; t < threads_.size(); ++t) {
    Thread& thread = threads_[t];
    if (thread.state == State::fresh || thread.state == State::exited) continue;
    if (thread.suspended == State::stopped || thread.suspended == State::log_full) {
      thread.fiber->restart();
      idle_.push_back(thread.fiber);
      thread.state = State::exited;
    } else {
      current_ = t;
      thread.fiber->resume();
    }
  }
  abandoning_ = false;
  to_run_ = {};
}

/// The numbers from `first` to `last` - 1 in the launch's order; a new permutation at each call if it is random.
std::span<const unsigned> BlockRunner::permuted(std::vector<unsigned>& order, unsigned first, unsigned last) {
  order.resize(last - first);
  std::iota(order.begin(), order.end(), first);
  if (launch_->options.order == Order::reverse) std::reverse(order.begin(), order.end());
  if (launch_->options.order == Order::random)
    for (std::size_t left = order.size(); left > 1; --left) {
      const std::uint64_t seed = random_bits(launch_->options.seed, block_);
      std::swap(order[left - 1], order[random_bits(seed, permutations_++) % left]);
    }
  return order;
}

inline namespace emulated {

int wait_for_block(int value, std::source_location where) {
  return BlockRunner::of_this_thread().wait_at_barrier(value, where);
}
ConvergedLanes converge_warp(ConvergencePoint point, std::uint32_t mask, std::uint64_t value,
                             std::source_location where) {
  return BlockRunner::of_this_thread().converge(point, mask, value, where);
}
void fail_thread(FindingKind kind, const std::string& what) {
  const OutsideKernel aside(BlockRunner::of_this_thread());
  throw Fault({.kind = kind, .first = BlockRunner::of_this_thread().text_of_running() + " " + what});
}
void fail_thread(FindingKind kind, const std::string& what, std::source_location where) {
  const OutsideKernel aside(BlockRunner::of_this_thread());
  fail_thread(kind, what + " at " + place_text(where));
}
void yield_thread() { BlockRunner::of_this_thread().yield(); }
void yield_before_load(const void* element, std::size_t bytes) {
  BlockRunner::of_this_thread().yield_before_load(element, bytes);
}
void pause_before_attempt(const void* element) { BlockRunner::of_this_thread().pause(element); }
void wait_for_change(const void* element, std::uint64_t seen) {
  BlockRunner::of_this_thread().wait_for_change(element, seen);
}
void fence_memory(bool of_block_only) { BlockRunner::of_this_thread().fence(of_block_only); }
void open_copy(void* to, const void* from, std::size_t bytes) {
  BlockRunner::of_this_thread().open_copy(to, from, bytes);
}
void commit_copies() { BlockRunner::of_this_thread().commit_copies(); }
void wait_for_copies(std::size_t latest_groups_left) {
  BlockRunner::of_this_thread().wait_for_copies(latest_groups_left);
}
unsigned lane_of_thread() { return BlockRunner::of_this_thread().thread() % kWarpSize; }

}  // namespace emulated
}  // namespace rung
