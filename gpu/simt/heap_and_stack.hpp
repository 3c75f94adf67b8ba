/// For kernels that allocate or recurse: malloc and free, and the device's limits on what they take. The heap
/// (cudaLimitMallocHeapSize) has 8 MiB unless told, a thread's stack (cudaLimitStackSize) 1 KiB. A kernel's .run calls
/// need_device_heap() or need_device_stack() before its launch: the first call sets the limit, later ones cost nothing.
/// The emulator has neither limit.
#pragma once

#include "gpu/simt/simt.hpp"

#ifndef __CUDACC__
#include "common/emulator/device_heap.hpp"
#endif

namespace rung {

#ifdef __CUDACC__

inline namespace cuda {

/// For every thread that a GPU holds at once some KiB. CUDA lets the heap grow only before the first kernel that uses
/// it, so there is one size for all.
constexpr std::size_t kDeviceHeapBytes = std::size_t{1} << 30;
/// For some hundred calls inside each other.
constexpr std::size_t kDeviceStackBytes = 8 << 10;

inline void need_limit(cudaLimit limit, std::size_t bytes, const char* what) {
  std::size_t now = 0;
  check_cuda(cudaDeviceGetLimit(&now, limit), what);
  if (now < bytes) check_cuda(cudaDeviceSetLimit(limit, bytes), what);
}

inline void need_device_heap() {
  static const bool done =
      (need_limit(cudaLimitMallocHeapSize, kDeviceHeapBytes, "setting the size of the device's heap"), true);
  static_cast<void>(done);
}

inline void need_device_stack() {
  static const bool done =
      (need_limit(cudaLimitStackSize, kDeviceStackBytes, "setting the size of a thread's stack"), true);
  static_cast<void>(done);
}

}  // namespace cuda

#else

inline namespace RUNG_EMULATION {

// In kernels' files these names hide the host's.
RUNG_INLINE void* malloc(std::size_t bytes) { return allocate_in_kernel(bytes); }
RUNG_INLINE void free(void* memory, Where where = Where::current()) { free_in_kernel(memory, where); }

inline void need_device_heap() {}
inline void need_device_stack() {}

}  // namespace RUNG_EMULATION

#endif

}  // namespace rung
