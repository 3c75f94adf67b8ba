/// Shared by the kernels of the sum: the sum of a thread's elements, of a warp and of a block, and the launch. The
/// kernels differ in how they add the blocks' sums.
#pragma once

#include <algorithm>

#include "common/machine/device_facts.hpp"
#include "gpu/simt/simt.hpp"

namespace rung {

constexpr int kSumThreads = 256;
constexpr int kSumWarps = kSumThreads / 32;
constexpr int kSumBlocksPerSm = 8;  // 2048 threads: every slot of a multiprocessor

/// The sum of every (threads of the grid)-th element, from the thread's own on.
__device__ __forceinline__ reg<float> thread_sum(const mem<float>* x, int n) {
  reg<float> sum = 0;
  for (int i = blockIdx.x * kSumThreads + threadIdx.x; i < n; i += gridDim.x * kSumThreads) sum += x[i];
  return sum;
}

/// The same among the threads of one block: every kSumThreads-th element.
__device__ __forceinline__ reg<float> thread_sum_of_block(const mem<float>* x, int n) {
  reg<float> sum = 0;
  for (int i = threadIdx.x; i < n; i += kSumThreads) sum += x[i];
  return sum;
}

/// The sum over the warp, in its first lane.
__device__ __forceinline__ reg<float> warp_sum(reg<float> sum) {
  for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_down_sync(0xffffffffu, sum, distance);
  return sum;
}

/// The sum over the block, in its first thread. Between two calls the block must pass a barrier.
__device__ __forceinline__ reg<float> block_sum(reg<float> sum) {
  __shared__ mem<float> sums[kSumWarps];
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  sum = warp_sum(sum);
  if (lane == 0) sums[warp] = sum;
  __syncthreads();  // the sums of all warps are there before the first one adds them
  if (warp == 0) {
    sum = 0;
    if (lane < kSumWarps) sum = sums[lane];
    sum = warp_sum(sum);
  }
  return sum;
}

/// The number of blocks that are resident at once, at most one per kSumThreads elements.
inline unsigned sum_blocks(const Params& p) {
  const auto resident = static_cast<unsigned>(gpu_facts().sm_count * kSumBlocksPerSm);
  return std::min(resident, blocks_for(p.at("n"), kSumThreads));
}

inline Launch sum_launch(const Params& p) { return Launch{{sum_blocks(p)}, {kSumThreads}}; }

/// The array once; a partial sum of each block written once and read once; the sum.
inline Traffic partials_traffic(const Params& p) {
  const double partials = 4.0 * sum_blocks(p);
  return Traffic{.loaded = 4.0 * p.at("n") + partials, .stored = partials + 4};
}

/// Scratch for a partial sum of each block.
inline Operand partial_sums(const Params& p) {
  return {.name = "partials", .elements = sum_blocks(p), .role = Role::scratch};
}

/// One atomic per block; what it sends to memory counts as stored.
inline double atomic_bytes(const Params& p) { return 4.0 * sum_blocks(p); }

inline int sum_elements(const Params& p) { return static_cast<int>(p.at("n")); }

}  // namespace rung
