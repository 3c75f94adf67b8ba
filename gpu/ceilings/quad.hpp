/// Shared by the kernels that measure memory: elements of 16 bytes, the widest access of a thread, and the sum over a
/// block.
#pragma once

#include <cstdint>

#include "common/problem/read.hpp"
#include "gpu/simt/simt.hpp"

namespace rung {

__device__ inline std::uint32_t total(const uint4& quad) { return quad.x + quad.y + quad.z + quad.w; }

inline std::int64_t quads_in(const Params& p) { return p.at("bytes") / static_cast<std::int64_t>(sizeof(uint4)); }

/// Adds `value` over the Threads (a power of two) threads of the block into partials[blockIdx.x], and zeroes the
/// partials that no block has, as the problem "read" requires.
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
