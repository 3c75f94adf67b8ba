/// The widest vectors of the CPU that the program is compiled for: loads and stores with the fewest instructions.
#pragma once

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <cstdint>

namespace rung {

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX__)
constexpr int kVectorBytes = 32;
#else  // SSE2, or NEON: SVE's vectors have no size at compile time
constexpr int kVectorBytes = 16;
#endif
#if defined(__x86_64__)
constexpr bool kHasStreamingStores = true;
#else
constexpr bool kHasStreamingStores = false;
#endif

// No wider, since g++ keeps a vector on the stack if it has to split it. Aligned to their size.
using WordVector __attribute__((vector_size(kVectorBytes), may_alias)) = std::uint32_t;
using FloatVector __attribute__((vector_size(kVectorBytes), may_alias)) = float;

/// Ordinary stores go through the caches, which first fetch the line that is overwritten; streaming stores bypass them.
enum class Store { ordinary, streaming };

/// A streaming store of 16, 32 or 64 bytes, to an address of that alignment. For CPUs that have them.
template <typename Vector>
inline void stream([[maybe_unused]] float* to, [[maybe_unused]] Vector value) {
#if defined(__AVX512F__)
  if constexpr (sizeof value == 64) _mm512_stream_ps(to, reinterpret_cast<__m512>(value));
#endif
#if defined(__AVX__)
  if constexpr (sizeof value == 32) _mm256_stream_ps(to, reinterpret_cast<__m256>(value));
#endif
#if defined(__x86_64__)
  if constexpr (sizeof value == 16) _mm_stream_ps(to, reinterpret_cast<__m128>(value));
#endif
}

/// Stores `value` at `to`. Streaming stores are weakly ordered: end them with finish_stores().
template <Store kStore>
inline void store(FloatVector* to, FloatVector value) {
  if constexpr (kStore == Store::ordinary || !kHasStreamingStores) {
    *to = value;
  } else {
    stream(reinterpret_cast<float*>(to), value);
  }
}

/// Orders all streaming stores of this thread before its next store.
template <Store kStore>
inline void finish_stores() {
#if defined(__x86_64__)
  if constexpr (kStore == Store::streaming) _mm_sfence();
#endif
}

}  // namespace rung
