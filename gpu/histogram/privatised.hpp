/// Shared by the histogram's kernels: how values are read, counters are zeroed, and the blocks' copies in shared memory
/// are added to them. In an unnamed namespace, so that each of the three builds of a kernel's file has its own copy.
#pragma once

#include <algorithm>

#include "common/machine/device_facts.hpp"
#include "common/problem/histogram.hpp"
#include "gpu/simt/simt.hpp"

namespace rung {
namespace {

using HistogramThreads = Choices<512, 256, 1024>;

__global__ void zero_counts(mem<unsigned>* counts) { counts[threadIdx.x] = 0; }

/// Calls count(value) for each of the 16 values of a vector.
template <typename Count>
__device__ __forceinline__ void for_each_byte(const uint4& vector, const Count& count) {
  const unsigned words[4] = {vector.x, vector.y, vector.z, vector.w};
  for (int word = 0; word < 4; ++word)
    for (int shift = 0; shift < 32; shift += 8) count(words[word] >> shift & 0xff);
}

/// Calls count(value) for each of this thread's values, in a grid of any size, by loads of 16 bytes: two before the
/// first value is counted, since counting takes long.
template <typename Count>
__device__ __forceinline__ void for_each_value(const mem<unsigned char>* values, int n, const Count& count) {
  const mem<uint4>* vectors = vector_cast<uint4>(values);
  const int thread = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
  int i = thread;
  for (; i + threads < n / 16; i += 2 * threads) {
    const uint4 first = vectors[i], second = vectors[i + threads];
    for_each_byte(first, count);
    for_each_byte(second, count);
  }
  if (i < n / 16) {
    const uint4 last = vectors[i];
    for_each_byte(last, count);
  }
  const int tail = n / 16 * 16 + thread;  // fewer than 16
  if (tail < n) count(values[tail]);
}

/// The launch: the number of blocks that are resident at once, so that few copies have to be added, but no idle blocks.
inline unsigned histogram_blocks(const Params& p, std::int64_t values_per_thread) {
  const std::int64_t threads = p.at("threads"), resident = gpu_facts().sm_count * (2048 / threads);
  return std::min(static_cast<unsigned>(resident), blocks_for(p.at("n"), threads * values_per_thread));
}

/// Zeroes the counters by a launch of one block, before the counting launch.
inline void launch_zero_counts(const Call& call) {
  Call before = call;
  before.launch = Launch{{1}, {kBins}};
  launch(before, zero_counts, call.operand<mem<unsigned>>(1));
}

/// The values once; the counters zeroed, and one atomic per block and counter.
inline Traffic privatised_traffic(const Params& p, unsigned blocks) {
  return Traffic{.loaded = 1.0 * p.at("n"), .stored = 4.0 * kBins * (1.0 + blocks)};
}

}  // namespace
}  // namespace rung
