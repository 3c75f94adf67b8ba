#include "gpu/simt/emulator_block.hpp"

#include <link.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "gpu/simt/emulated.hpp"

namespace rung {
namespace {

/// Where this OS thread keeps the thread_local variables of the module that holds the code at `code`.
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
std::string text(const std::source_location& where) {
  const std::string path = where.file_name();
  return path.substr(path.find_last_of('/') + 1) + ":" + std::to_string(where.line());
}

bool same_place(const std::source_location& a, const std::source_location& b) {
  return a.line() == b.line() && a.column() == b.column() && std::strcmp(a.file_name(), b.file_name()) == 0;
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
  for (std::size_t i = 0; i < threads_.size(); ++i) threads_[i].index = index_in(block, i);
  // CUDA aligns the start of shared memory to more than any element needs; 256 bytes keep bank 0 at its beginning.
  dynamic_shared_.resize(launch.shape.dynamic_shared_bytes + 256);
  const auto begin = (reinterpret_cast<std::uintptr_t>(dynamic_shared_.data()) + 255) & ~std::uintptr_t{255};

  trace = Trace{.static_shared = thread_locals_of(launch.kernel),
                .dynamic_shared = {begin, launch.shape.dynamic_shared_bytes},
                .counting = launch.options.counting};
  const Extent& grid = launch.shape.grid;
  gridDim = {grid.x, grid.y, grid.z};
  blockDim = {block.x, block.y, block.z};
  barriers_ = 0;
  sites_.take();  // of a launch that failed
}

Counts BlockRunner::finish() {
  Counts counts;
  counts.fp32 = trace.fp32;
  counts.fp64 = trace.fp64;
  counts.barriers = barriers_;
  counts.sites = sites_.take();
  trace = Trace{};
  return counts;
}

void BlockRunner::run(std::size_t position) {
  block_ = position;
  shuffles_ = 0;
  log_.clear();
  for (Thread& thread : threads_) thread.state = State::fresh;
  const auto [x, y, z] = index_in(launch_->shape.grid, position);
  blockIdx = {x, y, z};
  // What the last block left there is no more defined than on a GPU; NaN makes its use seen.
  std::memset(reinterpret_cast<void*>(trace.dynamic_shared.begin), 0xff, trace.dynamic_shared.bytes);

  const auto size = static_cast<unsigned>(threads_.size());
  do {
    for (const unsigned warp : shuffled(warps_, 0, (size + kWarpSize - 1) / kWarpSize))
      run_warp(warp * kWarpSize, std::min(size, (warp + 1) * kWarpSize));
  } while (release_barrier());
}

/// Runs a warp until all its threads wait at a barrier or have ended.
void BlockRunner::run_warp(unsigned first, unsigned last) {
  const std::span<const unsigned> order = shuffled(lanes_, first, last);
  for (bool done = false; !done;) {
    to_run_ = order;
    run_ready();
    if (!launch_->options.counting) return;

    std::uint32_t unfinished = 0;
    for (unsigned t = first; t < last; ++t)
      if (threads_[t].state == State::log_full) unfinished |= 1u << (t - first);
    log_.merge(unfinished, sites_);
    for (unsigned t = first; t < last; ++t)
      if (threads_[t].state == State::log_full && log_.has_room(static_cast<int>(t - first)))
        threads_[t].state = State::ready;
    done = unfinished == 0;
  }
}

/// Gives a turn to each thread in to_run_ that can run.
void BlockRunner::run_ready() {
  while (!to_run_.empty()) {
    Thread& thread = threads_[to_run_.front()];
    if (thread.state == State::fresh) {
      idle_fiber().resume();  // which takes this thread, and those after it while none of them has to wait
    } else if (thread.state == State::ready) {
      enter(to_run_.front());
      to_run_ = to_run_.subspan(1);
      thread.fiber->resume();
    } else {
      to_run_ = to_run_.subspan(1);
    }
    if (!failure_.empty()) abandon_block();
  }
}

/// A fiber's life: it runs threads that have not begun.
void BlockRunner::serve(Fiber& fiber) {
  while (!ending_) {
    while (failure_.empty() && !to_run_.empty() && threads_[to_run_.front()].state == State::fresh) {
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
  enter(number);
  try {
    launch_->body(launch_->closure);
  } catch (const Abandoned&) {
  } catch (const std::exception& error) {
    fail(thread, error.what());
  } catch (...) {
    fail(thread, "an exception of unknown type");
  }
  leave();
  thread.state = State::exited;
  if (!fiber.intact()) fail(thread, "the thread's local variables or its recursion need more stack than there is");
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

void BlockRunner::enter(unsigned thread) {
  current_ = thread;
  const Index3& index = threads_[thread].index;
  threadIdx = {index.x, index.y, index.z};
  if (launch_->options.counting) log_.open(static_cast<int>(thread % kWarpSize));
}

void BlockRunner::leave() {
  if (launch_->options.counting) log_.close(static_cast<int>(current_ % kWarpSize));
}

void BlockRunner::suspend(State why) {
  if (abandoning_) throw Abandoned{};
  Thread& self = threads_[current_];
  self.state = why;
  leave();
  self.fiber->suspend();
  if (abandoning_) throw Abandoned{};
}

void BlockRunner::wait_at_barrier(std::source_location where) {
  threads_[current_].barrier = where;
  suspend(State::at_barrier);
}

void BlockRunner::wait_for_room() { suspend(State::log_full); }

/// Lets the waiting threads go on; false if there are none, so that the block has ended. Threads that have ended count
/// as arrived, as on the hardware; threads that wait at different places are the program's error.
bool BlockRunner::release_barrier() {
  const Thread* first = nullptr;
  unsigned last_warp = ~0u;
  for (unsigned t = 0; t < threads_.size(); ++t) {
    Thread& thread = threads_[t];
    if (thread.state != State::at_barrier) continue;
    if (!first) first = &thread;
    if (!same_place(thread.barrier, first->barrier)) {
      fail(thread, "waits at the barrier at " + text(thread.barrier) + " while thread " + text(first->index) +
                       " waits at the one at " + text(first->barrier));
      abandon_block();
    }
    if (std::exchange(last_warp, t / kWarpSize) != t / kWarpSize) ++barriers_;
  }
  for (Thread& thread : threads_)
    if (thread.state == State::at_barrier) thread.state = State::ready;
  return first != nullptr;
}

/// Keeps the first failure of the block.
void BlockRunner::fail(const Thread& thread, const std::string& what) {
  if (failure_.empty())
    failure_ = "block " + text(index_in(launch_->shape.grid, block_)) + ", thread " + text(thread.index) + ": " + what;
}

/// Unwinds the threads that wait, so that their fibers can be used again, and throws the failure.
void BlockRunner::abandon_block() {
  abandoning_ = true;
  for (unsigned t = 0; t < threads_.size(); ++t)
    if (threads_[t].state != State::fresh && threads_[t].state != State::exited) {
      enter(t);
      threads_[t].fiber->resume();
    }
  abandoning_ = false;
  to_run_ = {};
  throw Error(std::exchange(failure_, {}));
}

/// The numbers from `first` to `last` in the launch's order; a new one at each call if it is random.
std::span<const unsigned> BlockRunner::shuffled(std::vector<unsigned>& order, unsigned first, unsigned last) {
  order.resize(last - first);
  std::iota(order.begin(), order.end(), first);
  if (launch_->options.order == Order::reverse) std::reverse(order.begin(), order.end());
  if (launch_->options.order == Order::random)
    for (std::size_t left = order.size(); left > 1; --left) {
      const std::uint64_t seed = random_bits(launch_->options.seed, block_);
      std::swap(order[left - 1], order[random_bits(seed, shuffles_++) % left]);
    }
  return order;
}

inline namespace emulated {

void wait_for_block(std::source_location where) { BlockRunner::of_this_thread().wait_at_barrier(where); }
void make_room() { BlockRunner::of_this_thread().wait_for_room(); }

}  // namespace emulated
}  // namespace rung
