/// The execution of one block after the other on one OS thread, with the block's threads as fibers.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <source_location>
#include <span>
#include <string>
#include <vector>

#include "gpu/simt/emulator_fiber.hpp"
#include "gpu/simt/emulator_log.hpp"

namespace rung {

/// One launch: the shape, and the kernel's code with its arguments behind a plain function.
struct GridLaunch {
  Launch shape;
  void (*body)(const void* closure);
  const void* closure;
  const void* kernel;  ///< an address in the code, which tells the module whose thread_locals are shared memory
  EmulatorOptions options;
};

/// A thread, or a place in the grid.
struct Index3 {
  unsigned x = 0, y = 0, z = 0;
};
Index3 index_in(const Extent& extent, std::size_t linear);
std::string text(const Index3& index);

/// Runs the blocks it is given, lazily: threads that never wait run one after the other on one fiber as plain calls;
/// a thread that waits at a barrier, or for its warp because its log is full, keeps its fiber until it ends.
class BlockRunner {
 public:
  /// The OS thread's own one. Fibers must not move between OS threads: compilers keep thread_local addresses.
  static BlockRunner& of_this_thread();
  ~BlockRunner();

  void begin(const GridLaunch& launch);
  /// Runs a block; throws Error that names block and thread. `position` is its linear index.
  void run(std::size_t position);
  /// What was counted since begin().
  Counts finish();

  /// Called by the running thread: it waits at the barrier at this place of the source, or for room in its log.
  void wait_at_barrier(std::source_location where);
  void wait_for_room();

 private:
  enum class State : std::uint8_t { fresh, ready, log_full, at_barrier, exited };
  struct Thread {
    Fiber* fiber = nullptr;
    std::source_location barrier;
    Index3 index;
    State state = State::fresh;
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
  bool release_barrier();
  void fail(const Thread& thread, const std::string& what);
  void abandon_block();
  std::span<const unsigned> shuffled(std::vector<unsigned>& order, unsigned first, unsigned last);

  const GridLaunch* launch_ = nullptr;
  std::vector<Thread> threads_;
  std::vector<std::byte> dynamic_shared_;
  StackPool stacks_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> idle_;
  WarpLog log_;
  SiteTable sites_;
  std::uint64_t barriers_ = 0;

  std::size_t block_ = 0;                ///< the running block's linear index
  std::uint64_t shuffles_ = 0;           ///< of this block: Order::random's second seed
  std::vector<unsigned> warps_, lanes_;  ///< in the order in which they run
  std::span<const unsigned> to_run_;     ///< threads of the warp that have not had their turn
  unsigned current_ = 0;                 ///< the running thread
  std::string failure_;
  bool abandoning_ = false, ending_ = false;
};

}  // namespace rung
