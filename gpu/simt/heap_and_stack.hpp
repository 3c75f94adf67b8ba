/// For kernels that allocate or recurse: malloc and free, and the device's limits on their memory. By default the heap
/// (cudaLimitMallocHeapSize) has 8 MiB, a thread's stack (cudaLimitStackSize) 1 KiB. A kernel's .run calls
/// need_device_heap() or need_device_stack() before its launch: the first call sets the limit, later ones cost nothing.
/// Both throw Error where the limit is too low and cannot be raised (gpu/host/heap_and_stack.cpp). The emulator has
/// neither limit.
#pragma once

#include "gpu/simt/simt.hpp"

#ifndef __CUDACC__
#include "common/emulator/device_heap.hpp"
#endif

namespace rung {

#ifdef __CUDACC__

/// `bytes`: the memory that all threads of the launch together hold at once.
void need_device_heap(double bytes);
void need_device_stack();

#else

inline namespace RUNG_EMULATION {

// In kernels' files these names hide the host's.
RUNG_INLINE void* malloc(std::size_t bytes) { return allocate_in_kernel(bytes); }
RUNG_INLINE void free(void* memory, Where where = Where::current()) { free_in_kernel(memory, where); }

inline void need_device_heap(double /*bytes*/) {}
inline void need_device_stack() {}

}  // namespace RUNG_EMULATION

#endif

}  // namespace rung
