/// Executes blocks one after the other on one OS thread, with the threads of a block as fibers.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <source_location>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "common/emulator/async_units.hpp"
#include "common/emulator/crash.hpp"
#include "common/emulator/device_memory.hpp"
#include "common/emulator/fiber.hpp"
#include "common/emulator/hazards.hpp"
#include "common/emulator/log.hpp"
#include "common/emulator/runtime.hpp"
#include "common/emulator/turns.hpp"

namespace rung {

/// Barriers that lanes reached after others of their warp had left the kernel: one finding for each place. Used by all
/// blocks of a launch.
class EarlyExits {
 public:
  /// Of block `block`; of all blocks, the first one's text is kept.
  void add(const std::source_location& where, std::size_t block, Finding finding);
  std::vector<Finding> take();

 private:
  struct Entry {
    std::size_t block;
    Finding finding;
  };
  std::mutex mutex_;
  std::map<std::tuple<std::string, unsigned, unsigned>, Entry> by_place_;
};

/// One launch: its shape, and the kernel with its arguments as a plain function and a closure.
struct GridLaunch {
  Launch shape;
  void (*body)(const void* closure);
  AddressRange closure;
  const void* kernel;  ///< its code; identifies the module whose thread_local variables are shared memory
  EmulatorOptions options;
  std::vector<Allocation> buffers{};               ///< all of global memory, by address
  GridHazards* hazards = nullptr;                  ///< null if hazards are not checked
  EarlyExits* early_exits = nullptr;               ///< null if hazards are not checked
  CacheModel* caches = nullptr;                    ///< null if caches are not modelled
  Turns* turns = nullptr;                          ///< null if blocks do not wait for later ones
  Clusters* clusters = nullptr;                    ///< null if each block is a cluster of its own
  std::atomic<std::size_t> failed_rank{SIZE_MAX};  ///< the least of the blocks that have failed
};

/// Ends a block that waits while another one has failed.
struct Stopped {};

/// A fault of the running thread, which ends its block.
struct Fault : Error {
  explicit Fault(Finding found) : Error(found.text()), finding(std::move(found)) {}
  Finding finding;
};

/// The index of a thread in its block, or of a block in the grid.
struct Index3 {
  unsigned x = 0, y = 0, z = 0;
};
Index3 index_in(const Extent& extent, std::size_t linear);
std::string text(const Index3& index);
/// "block (0, 0, 0), thread (3, 0, 0)", from linear indices.
std::string text_of_thread(const Launch& shape, std::size_t block, std::size_t thread);

/// Runs blocks. Threads that never wait run one after the other on the same fiber, as plain calls; a thread that waits
/// for others, or because its log is full, keeps its fiber until it ends.
class BlockRunner {
 public:
  /// That of the calling OS thread. Fibers must not move between OS threads: compilers cache thread_local addresses.
  static BlockRunner& of_this_thread();
  ~BlockRunner();

  void begin(const GridLaunch& launch);
  /// Runs a block; throws Fault. `block` is its linear index, `rank` its place in the order in which blocks are
  /// started. Throws Stopped if it waits and another block has failed: one of lesser rank, or one with which it takes
  /// turns.
  void run(std::size_t block, std::size_t rank);
  /// What was counted since begin().
  Counts finish();

  // Called by the running thread.
  int wait_at_barrier(int value, std::source_location where);
  ConvergedLanes converge(ConvergencePoint point, std::uint32_t mask, std::uint64_t value, std::source_location where);
  void wait_for(const Awaited& awaited, std::source_location where);
  void wait_for_log();
  /// Fails the block without an exception: for where the compiler expects none.
  [[noreturn]] void stop(Finding finding);
  /// The same from a signal's handler, so the finding is made later. `code`: the instruction; 0 if it is not known.
  [[noreturn]] void stop_crashed(int signal, std::uintptr_t code);
  void yield();
  void pause(const void* element);
  void wait_for_change(const void* element, std::uint64_t seen);
  void yield_before_load(const void* element, std::size_t bytes);
  void fence(bool of_block_only);
  void open_copy(void* to, const void* from, std::size_t bytes);
  void commit_copies();
  /// The thread's copies, for an mbarrier that tracks them from now on: for the hazard checks they are complete.
  std::vector<AsyncCopy> take_copies();
  void check_flag(const unsigned* flag, bool is_store, const void* site);
  void wait_for_copies(std::size_t latest_groups_left);
  /// Whether kernel code is running, not the emulator's or the host's.
  bool is_running() const { return running_; }
  const GridLaunch& launch() const { return *launch_; }
  std::uint32_t thread() const { return current_; }
  /// "block (0, 0, 0), thread (3, 0, 0)": the running thread.
  std::string text_of_running() const { return text_of_thread(launch_->shape, block_, current_); }
  AsyncUnits& units() { return units_; }
  /// Null if hazards are not checked.
  BlockHazards* hazards() { return launch_->hazards ? &hazards_ : nullptr; }
  AddressRange static_shared() const { return trace.static_shared; }

 private:
  friend class OutsideKernel;
  /// stopped: for good, since the block has failed.
  enum class State : std::uint8_t {
    fresh,
    ready,
    log_full,
    paused,
    yielded,
    waiting,
    at_barrier,
    converging,
    stopped,
    exited
  };
  struct Copy : AsyncCopy {
    std::size_t group;
  };
  struct Thread {
    Fiber* fiber = nullptr;
    std::source_location where;   ///< of the barrier or convergence point at which it waits
    std::uintptr_t position = 0;  ///< in the code, while it is suspended
    Index3 index;
    State state = State::fresh;
    State suspended = State::fresh;  ///< the state in which it was suspended last: it may be ready since
    ConvergencePoint point = ConvergencePoint::barrier;
    std::uint32_t mask = 0;   ///< the lanes that it waits for at the convergence point; then, those that took part
    std::uint64_t value = 0;  ///< for the other threads at the convergence point or barrier
    Awaited awaited;          ///< in State::waiting
    const void* unchanged = nullptr;  ///< the element that its latest atomic did not change …
    std::uint64_t seen = 0;           ///< … and what that holds
    bool is_trying_again = false;     ///< it has paused before another attempt on that element
    unsigned tries = 0;               ///< such atomics
    const void* polled = nullptr;     ///< the element that it looked at before it yielded …
    std::uint64_t found = 0;          ///< … and its first bytes
    bool is_polling = false;          ///< it finds the same as the last time
    std::size_t copy_group = 0;
    std::vector<Copy> copies;
  };
  /// Unwinds a thread whose block has failed, unless it is stopped where the compiler expects no exception.
  struct Abandoned {};

  void run_warp(unsigned first, unsigned last);
  void run_ready();
  void run_here(unsigned thread, Fiber& fiber);
  void serve(Fiber& fiber);
  Fiber& idle_fiber();
  void enter(unsigned thread);
  void leave();
  void suspend(State why);
  void merge(unsigned first, unsigned last);
  void keep_log(unsigned warp);
  bool wake_log_full(unsigned first, unsigned last);
  bool wake_paused(unsigned first, unsigned last);
  bool release_converged(unsigned first, unsigned last);
  bool release_lanes(unsigned first, std::uint32_t lanes);
  bool release_activemask(unsigned first, unsigned last);
  void fail_divergent_warp(unsigned first, unsigned last);
  bool is_any_lane_waiting() const;
  bool wake_yielded();
  void suspend_at(const void* element, std::uint64_t found);
  bool is_polling() const;
  void await_other_blocks(std::size_t rank);
  bool wake_waiting();
  void fail_deadlock();
  bool release_barrier();
  void report_early_exits();
  void report_crash();
  void interleave_requests();
  std::string waiting_text(const Thread& thread) const;
  std::uint32_t lanes_in(unsigned first, unsigned last, State state) const;
  void fail(const Thread& thread, FindingKind kind, const std::string& what, const std::string& second = "");
  void fail(Finding finding);
  void abandon_block();
  void unwind();
  std::span<const unsigned> permuted(std::vector<unsigned>& order, unsigned first, unsigned last);

  const GridLaunch* launch_ = nullptr;
  std::vector<Thread> threads_;
  std::vector<std::uint64_t> values_;  ///< by thread, of the latest convergence points
  std::vector<std::byte> dynamic_shared_;
  SignalStack signal_stack_;
  StackPool stacks_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> idle_;
  /// A warp that stops before all its lanes have met keeps a log of its own; all others share the first one.
  std::vector<std::unique_ptr<WarpLog>> logs_;
  WarpLog* log_ = nullptr;  ///< of the warp that runs
  SiteTable sites_;
  BlockHazards hazards_;
  AsyncUnits units_{*this};
  std::vector<RequestStream> warp_streams_;  ///< since the last barrier, by warp; for the model of the caches
  RequestStream stream_;                     ///< of the block
  std::uint64_t barriers_ = 0, warp_barriers_ = 0, shuffle_count_ = 0;
  int barrier_sum_ = 0;

  std::size_t block_ = 0;                ///< the running block's linear index
  std::uint64_t permutations_ = 0;       ///< drawn in this block; a counter for Order::random
  std::vector<unsigned> warps_, lanes_;  ///< in the order in which they run
  std::span<const unsigned> to_run_;     ///< threads of the warp that are still to be run
  unsigned current_ = 0;                 ///< the running thread
  bool running_ = false;                 ///< whether kernel code is running
  std::unique_ptr<Finding> failure_;
  int crash_ = 0;                  ///< the signal that ended the running thread
  std::uintptr_t crashed_at_ = 0;  ///< the instruction
  bool abandoning_ = false, ending_ = false;
};

/// While it exists, the running thread is in the emulator's own code and is not traced: the standard library templates
/// that it calls may be instances that were compiled for kernels.
class OutsideKernel {
 public:
  explicit OutsideKernel(BlockRunner& runner)
      : runner_(runner), position_(trace.position), was_running_(std::exchange(runner.running_, false)) {
    trace.end = trace.key;
  }
  ~OutsideKernel() {
    if (std::uncaught_exceptions() > exceptions_) return;  // the thread is being unwound
    runner_.running_ = was_running_;
    trace.position = position_;
    trace.end = trace.hazards ? trace.key : trace.full;  // with hazard checks every access takes the slow path
  }
  OutsideKernel(const OutsideKernel&) = delete;

 private:
  BlockRunner& runner_;
  std::uintptr_t position_;
  bool was_running_;
  int exceptions_ = std::uncaught_exceptions();
};

/// Global memory that is no buffer of the launch: all __constant__ variables, and what kernels have allocated.
AddressRange constant_memory();
bool is_on_device_heap(std::uintptr_t address);

/// The operations counted by source line on this OS thread since the last call.
std::vector<OperationSite> take_operation_sites();

}  // namespace rung
