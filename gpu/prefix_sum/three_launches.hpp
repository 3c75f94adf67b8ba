/// A scan of any length from a scan within a block, in three launches: every block scans its elements and stores their
/// sum, one block scans these sums, and every block adds to its elements the sum of all blocks before. The end of a
/// launch is the barrier that the blocks need. The array is read twice and written twice, so half of memory's bandwidth
/// is the upper bound.
#pragma once

#include "gpu/simt/simt.hpp"

namespace rung {

using BlockThreads = Choices<1024, 256, 512>;

// BlockScan::scan<Threads>(x): the sum of x over the threads up to this one. In it the block passes a barrier before a
// thread reads what another one wrote, and another barrier has to follow before the next call.

template <typename BlockScan, int Threads>
__global__ void scan_blocks(const mem<float>* x, mem<float>* y, mem<float>* sums, int n) {
  const int i = blockIdx.x * Threads + threadIdx.x;
  const reg<float> own = i < n ? x[i] : 0.0f;
  const reg<float> sum = BlockScan::template scan<Threads>(own);
  if (i < n) y[i] = sum;
  if (threadIdx.x == Threads - 1) sums[blockIdx.x] = sum;
}

/// By a single block, which carries the sum from one part to the next.
template <typename BlockScan, int Threads>
__global__ void scan_sums(mem<float>* sums, int count) {
  __shared__ mem<float> last;
  reg<float> carried = 0;
  for (int first = 0; first < count; first += Threads) {
    const int i = first + static_cast<int>(threadIdx.x);
    const reg<float> own = i < count ? sums[i] : 0.0f;
    const reg<float> sum = carried + BlockScan::template scan<Threads>(own);
    if (i < count) sums[i] = sum;
    if (threadIdx.x == Threads - 1) last = sum;
    __syncthreads();  // the sum is there; it is replaced after the barriers of the next scan
    carried = last;
  }
}

/// The first block's elements are right already.
template <int Threads>
__global__ void add_sums(mem<float>* y, const mem<float>* sums, int n) {
  const int i = (blockIdx.x + 1) * Threads + threadIdx.x;
  if (i < n) y[i] += sums[blockIdx.x];
}

inline unsigned scanned_blocks(const Params& p) { return blocks_for(p.at("n"), p.at("threads")); }

template <typename BlockScan>
void scan_in_three_launches(const Call& call) {
  const int n = static_cast<int>(call.params.at("n"));
  auto* y = call.operand<mem<float>>(1);
  auto* sums = call.operand<mem<float>>(2);
  BlockThreads::pick(call.params.at("threads"), [&](auto threads) {
    const unsigned blocks = call.launch.grid.x;
    launch(call, scan_blocks<BlockScan, threads>, call.operand<const mem<float>>(0), y, sums, n);
    if (blocks == 1) return;
    Call after = call;
    after.launch.grid = {1};
    launch(after, scan_sums<BlockScan, threads>, sums, static_cast<int>(blocks));
    after.launch.grid = {blocks - 1};
    launch(after, add_sums<threads>, y, sums, n);
  });
}

/// Completes a record in which only the kernel's name, texts and sources are set, and adds it.
template <typename BlockScan>
bool add_three_launches(Kernel kernel) {
  kernel.tunables = {{"threads", BlockThreads::values()}};
  kernel.scratch = [](const Params& p) {
    return std::vector{Operand{.name = "sums", .elements = scanned_blocks(p), .role = Role::scratch}};
  };
  kernel.gpu.launch = [](const Params& p) {
    return Launch{{scanned_blocks(p)}, {static_cast<unsigned>(p.at("threads"))}};
  };
  kernel.gpu.requested = [](const Params& p) {
    const double n = 4.0 * p.at("n"), sums = 4.0 * scanned_blocks(p);
    if (scanned_blocks(p) == 1) return Traffic{.loaded = n, .stored = n + sums};
    const double added = n - 4.0 * p.at("threads");  // of the last launch
    return Traffic{.loaded = n + sums + 2 * added, .stored = n + 2 * sums + added};
  };
  kernel.run = scan_in_three_launches<BlockScan>;
  return add_gpu_kernel(std::move(kernel));
}

}  // namespace rung
