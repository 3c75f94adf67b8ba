/// What the emulated kernels' vocabulary stands on: where the running thread is, and how it waits for others.
/// The same for both builds of a kernel (traced and plain); defined in common/emulator/block.cpp and emulator.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <source_location>

#include "common/emulator/finding_kinds.hpp"
#include "common/registry.hpp"

namespace rung {
inline namespace emulated {

struct uint3 {
  unsigned x = 0, y = 0, z = 0;
};
struct dim3 {
  unsigned x = 1, y = 1, z = 1;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};

constinit inline thread_local uint3 threadIdx, blockIdx;
constinit inline thread_local dim3 blockDim, gridDim;
constexpr int warpSize = 32;
constinit inline thread_local std::byte* dynamic_shared_memory = nullptr;  ///< of the running block

/// Waits for every thread of the block that has not ended; the sum of what they all give.
int wait_for_block(int given, std::source_location where);

/// What lanes of a warp do together.
enum class Meeting : std::uint8_t { barrier, shuffle, vote, active };

/// After a meeting: who took part (a bit for each lane), and what each of them brought.
struct MeetingResult {
  std::uint32_t lanes = 0;
  const std::uint64_t* brought = nullptr;  ///< by lane; those that did not take part have nothing to read there
};

/// Waits until all lanes named in `mask` that have not ended are at a meeting of this kind and mask.
/// Fails the thread's block if the mask lacks the caller or a lane does not come. Meeting::active takes no mask: the
/// lanes that come to this place take part.
MeetingResult meet_warp(Meeting kind, std::uint32_t mask, std::uint64_t brings, std::source_location where);

/// Ends the block with this error of the running thread ("shuffles from lane 5, which takes no part").
[[noreturn]] void fail_thread(FindingKind kind, const std::string& what);
/// The same, and where it stands.
[[noreturn]] void fail_thread(FindingKind kind, const std::string& what, std::source_location where);

/// Lets other threads of the block run: for loops that wait for what another thread writes.
void yield_thread();

/// __threadfence_block, or (of the whole grid) __threadfence.
void fence_memory(bool of_block_only);

/// Asynchronous copies from global to shared memory: done when waited for.
void open_copy(void* to, const void* from, std::size_t bytes);
void commit_copies();
void wait_for_copies(std::size_t latest_groups_left);

/// Lane of the running thread in its warp.
unsigned lane_of_thread();

/// Runs `body(closure)` as every thread of call.launch; see emulator.cpp.
void run_emulated(const Call& call, const void* kernel, void (*body)(const void*), const void* closure);

}  // namespace emulated
}  // namespace rung
