/// Global memory of the emulated device: allocations, their names, and which of their bytes have been written. Safe to
/// use from several OS threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace rung {

struct Allocation {
  std::uintptr_t begin = 0;
  std::size_t bytes = 0;
  std::string name;                 ///< "A"; empty if it has none
  std::uint8_t* written = nullptr;  ///< a flag for each byte; null if all of it has been written
  bool holds(std::uintptr_t address) const { return address - begin < bytes; }
};

/// Memory aligned to 256 bytes, as by cudaMalloc, with a guard gap before and after. None of it counts as written.
/// Throws Error if there is no memory left.
void* allocate_on_device(std::size_t bytes);
void release_on_device(void* memory) noexcept;

/// Names the allocation that holds `memory`, for findings. Does nothing if there is none.
void name_buffer(const void* memory, std::string name);
/// Bytes written by the host, or by a kernel whose stores were not tracked.
void mark_written(const void* memory, std::size_t bytes);
void mark_all_written();
/// No byte of the allocation that begins at `memory` counts as written any more.
void mark_unwritten(const void* memory);

/// All allocations, by address. `with_flags`: those not fully written get their flags now.
std::vector<Allocation> allocations(bool with_flags);
/// The allocation nearest to the address: the one that holds it, else the one below whose gap holds it, else the next
/// above; bytes is 0 if there is no allocation.
Allocation nearest_allocation(std::uintptr_t address);

}  // namespace rung
