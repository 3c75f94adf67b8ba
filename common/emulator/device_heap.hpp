/// malloc and free of kernel code in the emulator: memory of the device's heap, which every thread of the launch and of
/// later ones may use until it is freed. Defined in access.cpp.
#pragma once

#include <cstddef>
#include <source_location>

namespace rung {
inline namespace emulated {

void* allocate_in_kernel(std::size_t bytes);
/// Fails the thread if this is no memory of the heap, or has been freed before.
void free_in_kernel(void* memory, std::source_location where);

}  // namespace emulated
}  // namespace rung
