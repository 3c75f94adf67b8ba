/// The runtime beneath the emulated CUDA vocabulary: built-in variables, barriers and other convergence points, fences,
/// asynchronous copies. The same for both builds of a kernel, traced and plain; defined in block.cpp and emulator.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <source_location>

#include "common/emulator/finding_kinds.hpp"
#include "common/registry.hpp"

namespace rung {
inline namespace emulated {

struct uint3 {
  unsigned x, y, z;
};
struct dim3 {
  unsigned x = 1, y = 1, z = 1;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
  constexpr dim3(const uint3& from) : x(from.x), y(from.y), z(from.z) {}
};

// Constants of the thread that runs, as in CUDA; block.cpp has them under these names as variables. A type without
// constructors is a constant for GCC's checks of plain accesses, too.
#define RUNG_BUILT_IN(type, name) extern constinit thread_local type const name asm("rung_" #name)
RUNG_BUILT_IN(uint3, threadIdx);
RUNG_BUILT_IN(uint3, blockIdx);
RUNG_BUILT_IN(uint3, blockDim);
RUNG_BUILT_IN(uint3, gridDim);
RUNG_BUILT_IN(std::byte*, dynamic_shared_memory);  ///< of the running block
#undef RUNG_BUILT_IN
constexpr int warpSize = 32;

/// A block barrier: waits for every thread of the block that has not exited. Returns the sum of all their values.
int wait_for_block(int value, std::source_location where);

/// A convergence point: an operation for which lanes of a warp wait for each other.
enum class ConvergencePoint : std::uint8_t { barrier, shuffle, vote, activemask, matrix, election, mbarrier };

/// The lanes that took part (a bit for each), and the value of each of them.
struct ConvergedLanes {
  std::uint32_t lanes = 0;
  const std::uint64_t* values = nullptr;  ///< by lane; undefined for lanes that did not take part
};

/// Waits until all lanes of `mask` that have not exited are at a convergence point of this kind and mask. Fails the
/// block if the mask lacks the calling lane or if a lane does not arrive. ConvergencePoint::activemask takes no mask:
/// the lanes that arrive at this place take part.
ConvergedLanes converge_warp(ConvergencePoint point, std::uint32_t mask, std::uint64_t value,
                             std::source_location where);

/// Fails the block with this error of the running thread ("shuffles from lane 5, which takes no part").
[[noreturn]] void fail_thread(FindingKind kind, const std::string& what);
/// The same, with the place in the source.
[[noreturn]] void fail_thread(FindingKind kind, const std::string& what, std::source_location where);

/// Lets other threads of the block run: for loops that wait until another thread has written something.
void yield_thread();
/// Lets the other lanes of the warp run as far as they can without this one, so that all attempt to change elements at
/// the same time.
void pause_before_attempt(const void* element);
/// The atomic of the running thread has changed nothing: lets other threads run if it seems to wait for one of them.
void wait_for_change(const void* element, std::uint64_t seen);
/// Lets other threads run before the running thread loads this element, which one of them may write.
void yield_before_load(const void* element, std::size_t bytes);

/// __threadfence_block if `of_block_only`, else __threadfence.
void fence_memory(bool of_block_only);

/// Asynchronous copies from global to shared memory. They are made when they are waited for.
void open_copy(void* to, const void* from, std::size_t bytes);
void commit_copies();
void wait_for_copies(std::size_t latest_groups_left);

/// Lane of the running thread in its warp.
unsigned lane_of_thread();

/// Runs `body(closure)` as every thread of call.launch; see emulator.cpp. The closure holds the arguments.
void run_emulated(const Call& call, const void* kernel, void (*body)(const void*), const void* closure,
                  std::size_t closure_bytes);

}  // namespace emulated
}  // namespace rung
