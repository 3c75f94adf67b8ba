/// The widest vectors of the CPU that the program is compiled for: loads and stores with the fewest instructions.
#pragma once

#ifndef HWY_COMPILE_ONLY_STATIC
#define HWY_COMPILE_ONLY_STATIC  // without it, Highway 1.0.3 does not compile for a CPU with AVX-VNNI
#endif
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <cstdint>

namespace rung {

#if HWY_ARCH_X86
constexpr int kVectorBytes = HWY_MAX_BYTES;
constexpr bool kHasStreamingStores = true;
#else  // NEON: the compiler knows no size of SVE's vectors
constexpr int kVectorBytes = 16;
constexpr bool kHasStreamingStores = false;
#endif

// No wider, since g++ keeps a vector that it must split on the stack. Aligned to their size.
using WordVector __attribute__((vector_size(kVectorBytes), may_alias)) = std::uint32_t;
using FloatVector __attribute__((vector_size(kVectorBytes), may_alias)) = float;

/// Ordinary stores go through the caches, which first fetch the line that is overwritten; streaming stores bypass them.
enum class Store { ordinary, streaming };

/// Stores `value` at `to`. Streaming stores are weakly ordered: end them with finish_stores().
template <Store kStore>
inline void store(FloatVector* to, FloatVector value) {
  if constexpr (kStore == Store::ordinary || !kHasStreamingStores) {
    *to = value;
  } else {
    namespace hn = hwy::HWY_NAMESPACE;
    const hn::FixedTag<float, kVectorBytes / sizeof(float)> d;
    using Vector = hn::Vec<decltype(d)>;
    hn::Stream(Vector{reinterpret_cast<decltype(Vector::raw)>(value)}, d, reinterpret_cast<float*>(to));
  }
}

/// Orders all streaming stores of this thread before its next store.
template <Store kStore>
inline void finish_stores() {
  if constexpr (kStore == Store::streaming) hwy::FlushStream();
}

}  // namespace rung
