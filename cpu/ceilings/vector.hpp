/// The CPU's widest register, for loads and stores that take as few instructions as can be.
#pragma once

#ifdef __SSE2__
#include <immintrin.h>
#endif

#include <cstdint>

namespace rung {

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)  // AVX has the registers, but no whole-number additions in them
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

// The widest and no wider: g++ keeps a vector that it must split on the stack. Aligned to its size.
using WordVector __attribute__((vector_size(kVectorBytes), may_alias)) = std::uint32_t;
using FloatVector __attribute__((vector_size(kVectorBytes), may_alias)) = float;

/// How a value gets to memory: by way of the caches, which first fetch the line that is overwritten, or past them.
enum class Store { ordinary, streaming };

#ifdef __SSE2__
constexpr bool kHasStreamingStores = true;
#else
constexpr bool kHasStreamingStores = false;
#endif

/// Stores `value` at `to`. Streaming stores are not ordered: end them with finish_stores().
template <Store kStore>
inline void store(FloatVector* to, FloatVector value) {
  if constexpr (kStore == Store::ordinary || !kHasStreamingStores) {
    *to = value;
  } else {
#if defined(__AVX512F__)
    _mm512_stream_ps(reinterpret_cast<float*>(to), value);
#elif defined(__AVX2__)
    _mm256_stream_ps(reinterpret_cast<float*>(to), value);
#elif defined(__SSE2__)
    _mm_stream_ps(reinterpret_cast<float*>(to), value);
#endif
  }
}

/// All stores of this thread have left before the next begins.
template <Store kStore>
inline void finish_stores() {
#ifdef __SSE2__
  if constexpr (kStore == Store::streaming) _mm_sfence();
#endif
}

}  // namespace rung
