/// Faults of __syncthreads in shared memory: no barrier between a write and another thread's read, or between a read
/// and the write that replaces what was read.
#include "tests/emulator/faulty/faulty.hpp"

namespace rung {
namespace {

constexpr int kThreads = 128;
constexpr std::size_t kBytes = kThreads * sizeof(float);
const std::vector<std::string> kUnordered = {"read after write", "write after read"};

template <bool kBarrier>
__global__ void reverse_block(const mem<float>* in, mem<float>* out) {
  __shared__ mem<float> tile[kThreads];
  const int t = threadIdx.x;
  tile[t] = in[t];
  if constexpr (kBarrier) __syncthreads();
  out[t] = tile[kThreads - 1 - t];
}

const bool after_load = add_faulty({.name = "missing_barrier_after_load",
                                    .what = "no barrier between filling a tile and reading what others put there",
                                    .findings = kUnordered,
                                    .buffer = "tile",
                                    .launch = {{1}, {kThreads}},
                                    .buffers = {{"in", kBytes}, {"out", kBytes}},
                                    .run = on_buffers(reverse_block<false>),
                                    .right = on_buffers(reverse_block<true>)});

template <bool kBarrier>
__global__ void two_phases(const mem<float>* in, mem<float>* out) {
  __shared__ mem<float> tile[kThreads];
  const int t = threadIdx.x;
  reg<float> sum = 0;
  for (int phase = 0; phase < 2; ++phase) {
    tile[t] = in[phase * kThreads + t];
    __syncthreads();
    sum += tile[kThreads - 1 - t];
    if constexpr (kBarrier) __syncthreads();
  }
  out[t] = sum;
}

const bool after_use = add_faulty({.name = "missing_barrier_after_use",
                                   .what = "no barrier between reading a tile and filling it anew",
                                   .findings = kUnordered,
                                   .buffer = "tile",
                                   .launch = {{1}, {kThreads}},
                                   .buffers = {{"in", 2 * kBytes}, {"out", kBytes}},
                                   .run = on_buffers(two_phases<false>),
                                   .right = on_buffers(two_phases<true>)});

template <bool kBarrier>
__global__ void from_the_next_warp(const mem<float>* in, mem<float>* out) {
  __shared__ mem<float> tile[kThreads];
  const int t = threadIdx.x;
  tile[t] = in[t];
  if constexpr (kBarrier) {
    __syncthreads();
  } else {
    __syncwarp();
  }
  out[t] = tile[(t + warpSize) % kThreads];
}

const bool across_warps = add_faulty({.name = "warp_barrier_for_a_block",
                                      .what = "__syncwarp before reading what another warp wrote",
                                      .findings = kUnordered,
                                      .buffer = "tile",
                                      .launch = {{1}, {kThreads}},
                                      .buffers = {{"in", kBytes}, {"out", kBytes}},
                                      .run = on_buffers(from_the_next_warp<false>),
                                      .right = on_buffers(from_the_next_warp<true>)});

template <bool kAfterLoad, bool kAfterUse>
__global__ void neighbour(const mem<float>* x, const mem<float>* y, mem<float>* out) {
  __shared__ mem<float> array[kThreads];
  const int i = threadIdx.x;
  array[i] = x[i] * y[i];
  if constexpr (kAfterLoad) __syncthreads();
  const reg<float> next = array[(i + 1) % kThreads];
  if constexpr (kAfterUse) __syncthreads();
  array[i] = next;
  out[i] = array[i];
}

const bool neighbour_load = add_faulty({.name = "neighbour_without_first_barrier",
                                        .what = "array[i] = x * y, then the neighbour’s element with no barrier before",
                                        .findings = kUnordered,
                                        .buffer = "array",
                                        .launch = {{1}, {kThreads}},
                                        .buffers = {{"x", kBytes}, {"y", kBytes}, {"out", kBytes}},
                                        .run = on_buffers(neighbour<false, true>),
                                        .right = on_buffers(neighbour<true, true>)});
const bool neighbour_use = add_faulty({.name = "neighbour_without_second_barrier",
                                       .what = "the neighbour’s element is read, then array[i] replaced, no barrier",
                                       .findings = kUnordered,
                                       .buffer = "array",
                                       .launch = {{1}, {kThreads}},
                                       .buffers = {{"x", kBytes}, {"y", kBytes}, {"out", kBytes}},
                                       .run = on_buffers(neighbour<true, false>)});

constexpr int kSize = 32, kTile = 16;
constexpr std::size_t kMatrix = kSize * kSize * sizeof(float);

template <bool kAfterLoad, bool kAfterUse>
__global__ void tiled_product(const mem<float>* a, const mem<float>* b, mem<float>* c) {
  __shared__ mem<float> as[kTile][kTile];
  __shared__ mem<float> bs[kTile][kTile];
  const int tx = threadIdx.x;
  const int ty = threadIdx.y;
  const int row = blockIdx.y * kTile + ty;
  const int col = blockIdx.x * kTile + tx;
  reg<float> sum = 0;
  for (int phase = 0; phase < kSize / kTile; ++phase) {
    as[ty][tx] = a[row * kSize + phase * kTile + tx];
    bs[ty][tx] = b[(phase * kTile + ty) * kSize + col];
    if constexpr (kAfterLoad) __syncthreads();
    for (int i = 0; i < kTile; ++i) sum += as[ty][i] * bs[i][tx];
    if constexpr (kAfterUse) __syncthreads();
  }
  c[row * kSize + col] = sum;
}

const Launch kProduct = {{kSize / kTile, kSize / kTile}, {kTile, kTile}};

const bool product_load = add_faulty({.name = "tiled_product_without_first_barrier",
                                      .what = "tiled matrix product: tiles are used before all have loaded",
                                      .findings = kUnordered,
                                      .buffer = "bs",
                                      .launch = kProduct,
                                      .buffers = {{"a", kMatrix}, {"b", kMatrix}, {"c", kMatrix}},
                                      .run = on_buffers(tiled_product<false, true>),
                                      .right = on_buffers(tiled_product<true, true>)});
const bool product_use = add_faulty({.name = "tiled_product_without_second_barrier",
                                     .what = "tiled matrix product: tiles are replaced before all have used them",
                                     .findings = kUnordered,
                                     .buffer = "bs",
                                     .launch = kProduct,
                                     .buffers = {{"a", kMatrix}, {"b", kMatrix}, {"c", kMatrix}},
                                     .run = on_buffers(tiled_product<true, false>)});

template <bool kBarrier>
__global__ void tree_sum(const mem<float>* in, mem<float>* out) {
  __shared__ mem<float> sums[kThreads];
  const int t = threadIdx.x;
  sums[t] = in[t];
  __syncthreads();
  for (int step = kThreads / 2; step > 0; step /= 2) {
    if (t < step) sums[t] += sums[t + step];
    if constexpr (kBarrier) __syncthreads();
  }
  if (t == 0) out[0] = sums[0];
}

const bool reduction = add_faulty({.name = "reduction_without_barrier",
                                   .what = "tree reduction with no barrier between its steps",
                                   .findings = kUnordered,
                                   .buffer = "sums",
                                   .launch = {{1}, {kThreads}},
                                   .buffers = {{"in", kBytes}, {"out", sizeof(float)}},
                                   .run = on_buffers(tree_sum<false>),
                                   .right = on_buffers(tree_sum<true>)});

constexpr int kPhases = 4;

/// One half of the tile is used while the other is filled for the next phase.
template <bool kBarrier, bool kStale>
__global__ void double_buffer(const mem<float>* in, mem<float>* out) {
  __shared__ mem<float> tile[2][kThreads];
  const int t = threadIdx.x;
  reg<float> sum = 0;
  tile[0][t] = in[t];
  __syncthreads();
  for (int phase = 0; phase < kPhases; ++phase) {
    const int filled = phase % 2;
    if (phase + 1 < kPhases) tile[1 - filled][t] = in[(phase + 1) * kThreads + t];
    sum += tile[kStale ? 1 - filled : filled][kThreads - 1 - t];
    if constexpr (kBarrier) __syncthreads();
  }
  out[t] = sum;
}

const bool double_buffer_barrier = add_faulty({.name = "double_buffer_one_barrier_too_few",
                                               .what = "double buffer with no barrier between its phases",
                                               .findings = kUnordered,
                                               .buffer = "tile",
                                               .launch = {{1}, {kThreads}},
                                               .buffers = {{"in", kPhases* kBytes}, {"out", kBytes}},
                                               .run = on_buffers(double_buffer<false, false>),
                                               .right = on_buffers(double_buffer<true, false>)});
const bool double_buffer_stale = add_faulty({.name = "double_buffer_wrong_half",
                                             .what = "double buffer that uses the half which is being filled",
                                             .findings = kUnordered,
                                             .buffer = "tile",
                                             .launch = {{1}, {kThreads}},
                                             .buffers = {{"in", kPhases* kBytes}, {"out", kBytes}},
                                             .run = on_buffers(double_buffer<true, true>)});

template <bool kBarrier>
__global__ void zeroed_counter(mem<int>* out) {
  __shared__ mem<int> count;
  const int t = threadIdx.x;
  if (t == 0) count = 0;
  if constexpr (kBarrier) __syncthreads();
  atomicAdd(&count, 1);
  __syncthreads();
  out[t] = count;
}

const bool zeroing = add_faulty({.name = "counter_zeroed_without_barrier",
                                 .what = "no barrier between zeroing a shared counter and atomics on it",
                                 .findings = {"read after write", "write after read", "write after write"},
                                 .buffer = "count",
                                 .launch = {{1}, {kThreads}},
                                 .buffers = {{"out", kBytes}},
                                 .run = on_buffers(zeroed_counter<false>),
                                 .right = on_buffers(zeroed_counter<true>)});

}  // namespace
}  // namespace rung
