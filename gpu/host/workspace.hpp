/// The workspace of the rungs for compute capability 9.0, which persists between calls. In the emulator
/// it is in the emulated memory. RUNG_HOST_CODE: as in tensor_map.hpp.
#pragma once

#include <cstddef>
#if !defined(__CUDACC__) && !defined(RUNG_HOST_CODE)
#include "gpu/simt/simt.hpp"  // defines RUNG_EMULATION
#endif
#ifdef RUNG_EMULATION
#include <algorithm>

#include "common/emulator/device_memory.hpp"
#endif

namespace rung::hopper {

/// GPU memory that grows to the needs of the largest call and is kept until the program ends, so that timed calls do
/// not allocate. All calls share it, so they must be on one stream.
struct Workspace {
  float* a = nullptr;         ///< A transposed, or with rows of whole float4s
  float* b = nullptr;         ///< B with rows of whole float4s
  float* partials = nullptr;  ///< partial sums: a tile per block, or a plane per part of k
  unsigned* flags = nullptr;  ///< one for each block; equal to the epoch once the block's partial tile is written
  unsigned epoch = 0;         ///< of the latest launch
};

#ifdef RUNG_EMULATION

inline namespace RUNG_EMULATION {

/// Has exactly the size that a call requests, so that accesses beyond it are detected.
class EmulatedWorkspace {
 public:
  ~EmulatedWorkspace() { release(); }
  Workspace& renewed(std::size_t a, std::size_t b, std::size_t partials, std::size_t flags) {
    release();
    space_.a = array<float>(a, "the workspace for A");
    space_.b = array<float>(b, "the workspace for B");
    space_.partials = array<float>(partials, "the workspace for partial sums");
    space_.flags = array<unsigned>(flags, "the workspace for flags");
    space_.epoch = 1;
    return space_;
  }

 private:
  template <typename T>
  static T* array(std::size_t elements, const char* name) {
    if (elements == 0) return nullptr;
    void* memory = allocate_on_device(elements * sizeof(T));
    name_buffer(memory, name);
    std::fill_n(static_cast<T*>(memory), elements, T{});  // as on the GPU, when it grows
    mark_written(memory, elements * sizeof(T));
    return static_cast<T*>(memory);
  }
  void release() {
    for (void* memory : {static_cast<void*>(space_.a), static_cast<void*>(space_.b),
                         static_cast<void*>(space_.partials), static_cast<void*>(space_.flags)})
      if (memory) release_on_device(memory);
    space_ = {};
  }
  Workspace space_;
};

/// As below. It is valid until the next call.
inline Workspace& workspace(std::size_t a, std::size_t b, std::size_t partials, std::size_t flags) {
  static thread_local EmulatedWorkspace space;
  return space.renewed(a, b, partials, flags);
}

}  // namespace RUNG_EMULATION

#else

/// The workspace, with room for at least these numbers of elements. Throws Error if there is not enough memory.
Workspace& workspace(std::size_t a, std::size_t b, std::size_t partials, std::size_t flags);

#endif

}  // namespace rung::hopper
