/// What the histogram's kernels share: how values are read, how the counters begin, and how the copies that blocks keep
/// in shared memory join them. In an unnamed namespace: each of the three builds of a kernel's file has its own.
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

/// Calls count(value) for each value that falls to this thread, of a grid of any size, by loads of 16 bytes: two of
/// them before the first value is counted, since counting takes long.
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

/// The launch: as many blocks as are resident at once, so that few copies have to be joined, but no more than there is
/// work for.
inline unsigned histogram_blocks(const Params& p, std::int64_t values_per_thread) {
  const std::int64_t threads = p.at("threads"), resident = gpu_facts().sm_count * (2048 / threads);
  return std::min(static_cast<unsigned>(resident), blocks_for(p.at("n"), threads * values_per_thread));
}

/// Zeroes the counters by a launch of one block, before the one that counts.
inline void launch_zero_counts(const Call& call) {
  Call before = call;
  before.launch = Launch{{1}, {kBins}};
  launch(before, zero_counts, call.operand<mem<unsigned>>(1));
}

/// The values once; the counters zeroed, and an atomic of each block to each.
inline Traffic privatised_traffic(const Params& p, unsigned blocks) {
  return Traffic{.loaded = 1.0 * p.at("n"), .stored = 4.0 * kBins * (1.0 + blocks)};
}

}  // namespace
}  // namespace rung
