/// The execution of one block after the other on one OS thread, with the block's threads as fibers.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <source_location>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/emulator/device_memory.hpp"
#include "common/emulator/fiber.hpp"
#include "common/emulator/log.hpp"
#include "common/emulator/runtime.hpp"
#include "common/emulator/hazards.hpp"

namespace rung {

/// One launch: the shape, and the kernel's code with its arguments behind a plain function.
struct GridLaunch {
  Launch shape;
  void (*body)(const void* closure);
  const void* closure;
  const void* kernel;  ///< an address in the code, which tells the module whose thread_locals are shared memory
  EmulatorOptions options;
  std::vector<Allocation> buffers{};  ///< all of global memory, by address
  GridHazards* hazards = nullptr;     ///< if they are looked for
  CacheModel* caches = nullptr;       ///< if they are modelled
};

/// What ends a block: something that the running thread must not do. Its text is the error's.
struct Fault : Error {
  explicit Fault(Finding found) : Error(found.text()), finding(std::move(found)) {}
  Finding finding;
};

/// A thread, or a place in the grid.
struct Index3 {
  unsigned x = 0, y = 0, z = 0;
};
Index3 index_in(const Extent& extent, std::size_t linear);
std::string text(const Index3& index);
/// "block (0, 0, 0), thread (3, 0, 0)", from linear indices.
std::string text_of_thread(const Launch& shape, std::size_t block, std::size_t thread);

/// Runs the blocks it is given, lazily: threads that never wait run one after the other on one fiber as plain calls;
/// a thread that waits for others, or because its log is full, keeps its fiber until it ends.
class BlockRunner {
 public:
  /// The OS thread's own one. Fibers must not move between OS threads: compilers keep thread_local addresses.
  static BlockRunner& of_this_thread();
  ~BlockRunner();

  void begin(const GridLaunch& launch);
  /// Runs a block; throws Fault. `position` is its linear index, `turn` its place in the order of blocks.
  void run(std::size_t position, std::size_t turn);
  /// What was counted since begin().
  Counts finish();

  // Called by the running thread.
  int wait_at_barrier(int given, std::source_location where);
  MeetingResult meet(Meeting kind, std::uint32_t mask, std::uint64_t brings, std::source_location where);
  void wait_for_room();
  void yield();
  void fence(bool of_block_only);
  void open_copy(void* to, const void* from, std::size_t bytes);
  void commit_copies();
  void wait_for_copies(std::size_t latest_groups_left);
  /// Whether the kernel's own code runs.
  bool is_running() const { return running_; }
  const GridLaunch& launch() const { return *launch_; }
  std::uint32_t thread() const { return current_; }
  /// "block (0, 0, 0), thread (3, 0, 0)": the running thread.
  std::string text_of_running() const { return text_of_thread(launch_->shape, block_, current_); }
  AddressRange static_shared() const { return trace.static_shared; }

 private:
  friend class OutsideKernel;
  enum class State : std::uint8_t { fresh, ready, log_full, yielded, at_barrier, at_meeting, exited };
  struct Copy {
    void* to;
    const void* from;
    std::size_t bytes;
    std::size_t group;
  };
  struct Thread {
    Fiber* fiber = nullptr;
    std::source_location where;   ///< of what it waits at
    std::uintptr_t position = 0;  ///< in the code, while it does not run
    Index3 index;
    State state = State::fresh;
    Meeting meeting = Meeting::barrier;
    std::uint32_t mask = 0;    ///< wanted at the meeting; then, who took part
    std::uint64_t brings = 0;  ///< to the meeting or the barrier
    std::size_t copy_group = 0;
    std::vector<Copy> copies;
  };
  /// Unwinds a thread whose block has failed.
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
  bool make_rooms(unsigned first, unsigned last);
  bool release_meetings(unsigned first, unsigned last);
  bool release_meeting(unsigned first, std::uint32_t lanes);
  bool release_activemask(unsigned first, unsigned last);
  void explain_meeting(unsigned first, unsigned last);
  bool wake_yielded();
  bool release_barrier();
  void interleave_requests();
  std::string waiting_text(const Thread& thread) const;
  std::uint32_t lanes_in(unsigned first, unsigned last, State state) const;
  void fail(const Thread& thread, FindingKind kind, const std::string& what, const std::string& second = "");
  void fail(Finding finding);
  void abandon_block();
  std::span<const unsigned> shuffled(std::vector<unsigned>& order, unsigned first, unsigned last);

  const GridLaunch* launch_ = nullptr;
  std::vector<Thread> threads_;
  std::vector<std::uint64_t> brought_;  ///< to the latest meetings, by thread
  std::vector<std::byte> dynamic_shared_;
  StackPool stacks_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> idle_;
  WarpLog log_;
  SiteTable sites_;
  BlockHazards hazards_;
  std::vector<RequestStream> warp_streams_;  ///< since the last barrier, by warp; for the model of the caches
  RequestStream stream_;                     ///< of the block
  std::uint64_t barriers_ = 0, warp_barriers_ = 0, shuffle_count_ = 0;
  int barrier_sum_ = 0;

  std::size_t block_ = 0;                ///< the running block's linear index
  std::uint64_t shuffles_ = 0;           ///< of this block: Order::random's second seed
  std::vector<unsigned> warps_, lanes_;  ///< in the order in which they run
  std::span<const unsigned> to_run_;     ///< threads of the warp that have not had their turn
  unsigned current_ = 0;                 ///< the running thread
  bool running_ = false;                 ///< whether one runs at all
  std::unique_ptr<Finding> failure_;
  bool abandoning_ = false, ending_ = false;
};

/// While one lives, the running thread is in the emulator's own code and leaves no trace: the standard library's
/// templates that it uses may be the copies that were compiled for kernels.
class OutsideKernel {
 public:
  explicit OutsideKernel(BlockRunner& runner)
      : runner_(runner), position_(trace.position), was_running_(std::exchange(runner.running_, false)) {
    trace.end = trace.key;
  }
  ~OutsideKernel() {
    if (std::uncaught_exceptions() > exceptions_) return;  // the thread ends
    runner_.running_ = was_running_;
    trace.position = position_;
    trace.end = trace.hazards ? trace.key : trace.room_end;  // with hazard checks every access takes the slow way
  }
  OutsideKernel(const OutsideKernel&) = delete;

 private:
  BlockRunner& runner_;
  std::uintptr_t position_;
  bool was_running_;
  int exceptions_ = std::uncaught_exceptions();
};

/// What was counted at lines of the source since the last call, on this OS thread.
std::vector<OperationSite> take_operation_sites();

}  // namespace rung
