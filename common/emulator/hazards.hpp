/// Hazards: what CUDA leaves undefined and a correct kernel does not do. Conflicting accesses of two threads that are
/// not ordered, and reads of uninitialised memory. The running threads report their accesses; whether two of them are
/// ordered follows from the barriers and fences between them alone, so one order of execution finds what any order
/// could suffer from.
///
/// What orders two accesses (happens_before.hpp):
///   - both are made by one thread, in program order (lanes of a warp are not ordered by running in lockstep: since
///     Volta they need not);
///   - a block barrier between them; a warp barrier of both threads, or a chain of them (partial masks included);
///   - a release and an acquire: a __threadfence of the one thread (which covers what it did, and what its warp and its
///     block did before a barrier that it passed), then its atomic or volatile store to global memory; then the other
///     thread's atomic or volatile load of the same address, and for its block the next barrier.
///   - an arrival at an mbarrier, a named barrier or a cluster's barrier, and the end of a wait for it;
///   - for an operation of an asynchronous unit (async.hpp), the wait for it: its accesses are in flight until then.
///     They come after the threads' writes only if a proxy fence is between them, too.
/// Atomic and volatile accesses never race with each other, but do with plain ones. Flags in shared memory order
/// nothing.
///
/// For each element the last store and two of the loads (or atomics) since then are remembered (shadow_memory.hpp), of
/// different warps or blocks if possible: with three or more threads of one warp and partial masks a write after read
/// may be missed. There are no false positives: where a limit given below is exceeded, accesses count as ordered.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/emulator/finding_kinds.hpp"
#include "common/emulator/happens_before.hpp"
#include "common/registry.hpp"

namespace rung {

/// Who makes an access: a thread, a thread atomically, or, for a thread, the unit that copies tiles or a tensor core.
enum class Actor : std::uint8_t { thread, atomic, copier, tensor_core };

/// One of the two threads of a hazard, and the site of its access: the place in the code.
struct HazardSide {
  std::uint32_t block = 0, thread = 0;  ///< linear indices
  std::uintptr_t site = 0;              ///< return address of the access; 0 beyond the first 8191 of a launch
  bool is_store = false;
  Actor actor = Actor::thread;
};

struct Hazard {
  FindingKind kind;
  bool is_shared = false;
  std::uintptr_t address = 0;     ///< of the element, of the first occurrence
  unsigned bytes = 4;             ///< of the second access
  HazardSide first, second;       ///< of the first occurrence; first.site is 0 if there is only one thread
  std::uint64_t occurrences = 1;  ///< accesses with the same kind and the same two sites
};

/// An access of one thread, as reported to the checks.
struct CheckedAccess {
  std::uintptr_t address = 0;
  unsigned bytes = 0;  ///< 1, 2, 4, 8 or 16
  bool is_store = false, is_shared = false;
  bool is_atomic = false;    ///< an atomic: load and store at once, ordered with other atomics
  bool is_volatile = false;  ///< as of a flag: does not race, releases and acquires like an atomic
  bool by_copier = false;    ///< by TMA, in global memory
  bool is_async = false;     ///< the store of an asynchronous copy, which completes at copies_arrived()
  std::uintptr_t site = 0;
};

/// Pieces of shared memory that a thread reads in another block, or that a unit reads or writes for a thread.
struct RemoteAccess {
  std::span<const std::uintptr_t> pieces;
  std::size_t bytes = 0;  ///< of each
  bool is_store = false;
  Actor actor = Actor::thread;
  std::uintptr_t site = 0;
};

/// What the blocks of a launch share: the shadow of global memory and the flags. One for each launch; used by several
/// OS threads at once. It takes 16 bytes for each 4-byte word of the touched parts of the buffers; 8 more where several
/// threads read what was written in this launch, and 24 for each byte of a 256-byte page with accesses of 1 or 2 bytes.
class GridHazards {
 public:
  /// `blocks`: of the launch; block indices are below it. The first 2^36 / blocks (at most 2^31) barriers and fences of
  /// a block are distinguished, warp barriers included; later accesses of the block count as ordered among themselves.
  /// Throws Error if there are more than 2^31 - 1.
  explicit GridHazards(std::uint64_t blocks = std::uint64_t{1} << 20);
  ~GridHazards();
  GridHazards(const GridHazards&) = delete;
  GridHazards& operator=(const GridHazards&) = delete;

  /// Announces a buffer before the launch. `written_bytes`: a flag for each byte, not 0 if it has been written, which
  /// the checks keep up to date; null: all of it has been written. Accesses outside all buffers are not checked.
  /// Throws Error if there is no memory for its shadow, or if it overlaps another buffer.
  void add_buffer(std::uintptr_t begin, std::size_t bytes, std::uint8_t* written_bytes);
  /// The hazards found since the last call, in the order of discovery, each kind and pair of sites once.
  std::vector<Hazard> take();

 private:
  friend class BlockHazards;
  struct State;
  std::unique_ptr<State> state_;
};

/// The checks of one block after the other, on one OS thread. An access is reported before it is made, and is made
/// before the next report: so blocks on other OS threads observe a release no later than its effect.
class BlockHazards {
 public:
  BlockHazards();
  ~BlockHazards();
  BlockHazards(const BlockHazards&) = delete;
  BlockHazards& operator=(const BlockHazards&) = delete;

  struct SharedRange {
    std::uintptr_t begin = 0;
    std::size_t bytes = 0;
  };
  /// `threads`: of a block, 1 to 1024; else throws Error. `grid` has its buffers and outlives the blocks.
  /// `cluster`: the blocks of a cluster, side by side.
  void begin_launch(GridHazards& grid, SharedRange static_shared, SharedRange dynamic_shared, unsigned threads,
                    unsigned cluster = 1);
  /// Forgets the previous block. Throws Error for an index that the launch does not have, or before a launch.
  void begin_block(std::uint32_t block);

  /// `thread`: below the launch's `threads`, here and below; else throws Error.
  void access(std::uint32_t thread, const CheckedAccess& access);
  /// __syncthreads by all threads that have not exited.
  void block_barrier();
  /// __syncwarp by these lanes of the warp; lanes that the block does not have are ignored.
  void warp_barrier(std::uint32_t warp, std::uint32_t lanes);
  /// __threadfence (grid) or __threadfence_block; the latter orders nothing that is checked.
  void fence(std::uint32_t thread, bool of_block_only);
  /// The thread waited for its asynchronous copies, all but the latest `still_open` accesses marked is_async.
  void copies_arrived(std::uint32_t thread, std::size_t still_open);

  // ---- Barriers of some threads, and asynchronous units ----

  void arrive(std::uint32_t thread, Handed& to);
  void wait(std::uint32_t thread, const Handed& from);
  void proxy_fence(std::uint32_t thread);
  /// The time at the thread's next access, and whether that is ordered before the next one by `thread` of `block`.
  std::uint32_t epoch() const;
  bool has_seen(std::uint32_t thread, std::uint32_t block, std::uint32_t other, std::uint32_t epoch) const;
  /// An access to this block's shared memory for a thread of `issuer`, this block or another one of its cluster. A
  /// unit's access is in flight from now on; returns its name for unit_finished().
  std::uint64_t remote_access(BlockHazards& issuer, std::uint32_t thread, const RemoteAccess& access);
  /// The unit has finished this part of an operation of `thread` of `issuer`; threads that wait for `to` see that.
  void unit_finished(BlockHazards& issuer, std::uint32_t thread, std::span<const std::uintptr_t> pieces,
                     std::size_t bytes, std::uint64_t name, Handed& to);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace rung
