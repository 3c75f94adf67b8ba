/// What CUDA leaves undefined and a kernel must therefore not do: accesses of two threads that nothing orders, and reads
/// of what nobody wrote. The running threads report their accesses; whether two of them are ordered follows from the
/// barriers and fences between them alone, so one order of execution finds what any order could suffer from.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "common/registry.hpp"

namespace rung {

enum class HazardKind : std::uint8_t {
  read_after_write,      ///< within a block: a thread reads what another wrote, no barrier in between
  write_after_read,      ///< within a block: a thread overwrites what another has read, no barrier in between
  write_after_write,     ///< within a block: two threads write the same element, no barrier in between
  race_between_blocks,   ///< global memory: two blocks, at least one writes, no fence-and-flag in between
  uninitialized_shared,  ///< a read of shared memory that no thread of this block wrote
  uninitialized_global,  ///< a read of global memory that neither the host nor a kernel wrote
  unfinished_copy,       ///< a read of what an asynchronous copy brings, before it was waited for
};

/// "read after write" and so on.
const char* name_of(HazardKind kind);

/// One of the two threads of a hazard, and the place in the code where it made its access.
struct HazardSide {
  std::uint32_t block = 0, thread = 0;  ///< linear indices
  std::uintptr_t site = 0;              ///< return address of the access
  bool is_store = false, is_atomic = false;
};

struct Hazard {
  HazardKind kind;
  bool is_shared = false;
  std::uintptr_t address = 0;     ///< of the element, of the first occurrence
  HazardSide first, second;       ///< of the first occurrence; first.site is 0 if there is only one thread
  std::uint64_t occurrences = 1;  ///< with the same kind and the same two sites
};

/// An access of one thread, as the checker is told of it.
struct CheckedAccess {
  std::uintptr_t address = 0;
  unsigned bytes = 0;  ///< 1, 2, 4, 8 or 16
  bool is_store = false, is_shared = false;
  bool is_atomic = false;    ///< an atomic: load and store at once, ordered with other atomics
  bool is_volatile = false;  ///< waits for another thread's write, as a flag: no race, orders like an atomic
  bool is_async = false;     ///< the store of an asynchronous copy, which arrives at copies_arrived()
  std::uintptr_t site = 0;
};

/// What the blocks of a launch share: who wrote and read each element of global memory. One for each launch; used by
/// several OS threads at once.
class GridHazards {
 public:
  GridHazards();
  ~GridHazards();
  GridHazards(const GridHazards&) = delete;
  GridHazards& operator=(const GridHazards&) = delete;

  /// Announces a buffer before the launch; `written`: whether all of it has been written (else `written_bytes` tells,
  /// one flag a byte, which the checker keeps up to date).
  void add_buffer(std::uintptr_t begin, std::size_t bytes, std::uint8_t* written_bytes);
  /// What was found, in no particular order, each pair of sites once. Forgets it.
  std::vector<Hazard> take();

 private:
  friend class BlockHazards;
  struct State;
  std::unique_ptr<State> state_;
};

/// The checks of one block after the other, on one OS thread.
class BlockHazards {
 public:
  BlockHazards();
  ~BlockHazards();

  /// `shared_begin`, `shared_bytes`: the ranges of shared memory, static and dynamic, at most two.
  struct SharedRange {
    std::uintptr_t begin = 0;
    std::size_t bytes = 0;
  };
  void begin_launch(GridHazards& grid, SharedRange static_shared, SharedRange dynamic_shared, unsigned threads);
  void begin_block(std::uint32_t block);

  void access(std::uint32_t thread, const CheckedAccess& access);
  /// __syncthreads by all threads that have not ended.
  void block_barrier();
  /// __syncwarp by these lanes of the warp.
  void warp_barrier(std::uint32_t warp, std::uint32_t lanes);
  /// __threadfence (grid) or __threadfence_block.
  void fence(std::uint32_t thread, bool of_block_only);
  /// The thread waited for its asynchronous copies, all but the latest `still_open` accesses marked is_async.
  void copies_arrived(std::uint32_t thread, std::size_t still_open);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace rung
