/// The emulated device's global memory: what was allocated, under which name, and what of it has been written.
/// Safe to use from several OS threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace rung {

struct Allocation {
  std::uintptr_t begin = 0;
  std::size_t bytes = 0;
  std::string name;                 ///< "A"; empty if nobody gave one
  std::uint8_t* written = nullptr;  ///< one flag a byte; null if all of it has been written
  bool holds(std::uintptr_t address) const { return address - begin < bytes; }
};

/// 256-byte aligned, as cudaMalloc's memory, with a gap before and after that belongs to nobody. Nothing is written.
/// Throws Error when there is none left.
void* allocate_on_device(std::size_t bytes);
void release_on_device(void* memory) noexcept;

/// What findings call the allocation that holds `memory`; nothing happens if none does.
void name_buffer(const void* memory, std::string name);
/// The host wrote these bytes (or a kernel that nobody watched might have).
void mark_written(const void* memory, std::size_t bytes);
void mark_all_written();
/// Nothing of the allocation that begins at `memory` counts as written any more.
void mark_unwritten(const void* memory);

/// Every allocation, by address; those not fully written get their flags now if `with_flags`.
std::vector<Allocation> allocations(bool with_flags);
/// The allocation that is nearest to the address: the one that holds it, else the one below whose gap holds it, else
/// the next above; bytes is 0 if there are none at all.
Allocation nearest_allocation(std::uintptr_t address);

}  // namespace rung
