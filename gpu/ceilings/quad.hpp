/// What the kernels that measure memory share: a 16-byte element and the sum over a block.
#pragma once

#include <cstdint>
#include <type_traits>

#include "common/problem/read.hpp"
#include "gpu/simt/simt.hpp"

namespace rung {

/// Four words that one instruction moves: the widest access of a thread.
struct alignas(16) Quad {
  std::uint32_t x, y, z, w;
};

/// One 16-byte access: to the compiler of the GPU an element is a Quad, to the emulator a thing that records its use.
template <typename Element>
__device__ __forceinline__ Quad load_quad(const Element* from) {
  if constexpr (std::is_same_v<Element, Quad>)
    return *from;
  else
    return from->load();
}
template <typename Element>
__device__ __forceinline__ void store_quad(Element* to, const Quad& quad) {
  if constexpr (std::is_same_v<Element, Quad>)
    *to = quad;
  else
    to->store(quad);
}

__device__ inline std::uint32_t total(const Quad& quad) { return quad.x + quad.y + quad.z + quad.w; }

inline std::int64_t quads_in(const Params& p) { return p.at("bytes") / static_cast<std::int64_t>(sizeof(Quad)); }

/// Adds `value` over the Threads (a power of two) threads of the block into partials[blockIdx.x], and zeroes the
/// partials that no block has, as the problem "read" wants it.
template <int Threads>
__device__ void store_partials(std::uint32_t value, mem<std::uint32_t>* partials) {
  __shared__ mem<std::uint32_t> sums[Threads];
  const int tx = threadIdx.x;
  sums[tx] = value;
  __syncthreads();
  for (int half = Threads / 2; half > 0; half /= 2) {
    if (tx < half) {
      const std::uint32_t left = sums[tx], right = sums[tx + half];
      sums[tx] = left + right;
    }
    __syncthreads();  // the halves are folded before they are read again
  }
  if (tx == 0) partials[blockIdx.x] = sums[0];
  for (int i = gridDim.x + blockIdx.x * Threads + tx; i < kReadPartials; i += gridDim.x * Threads) partials[i] = 0;
}

}  // namespace rung
