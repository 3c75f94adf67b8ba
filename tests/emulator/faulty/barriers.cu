/// Faults of __syncthreads: no barrier between a write and another thread's read, or between a read and the write that
/// replaces what was read.
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
                                   .what = "no barrier between reading a tile and filling it again",
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

/// The course's example as it stands there: each thread multiplies its element by the number of its left neighbour,
/// which that neighbour stores in it; the last thread's neighbour has an element of its own.
/// Source: Blakely, "Potential global memory access problem".
template <bool kFirst, bool kSecond>
__global__ void times_left_number(mem<int>* array) {
  const int i = threadIdx.x;
  const int x = array[i];
  if constexpr (kFirst) __syncthreads();
  array[i + 1] = i;
  if constexpr (kSecond) __syncthreads();
  const int y = array[i];
  array[i] = x * y;
}

const std::vector<FaultyBuffer> kArray = {{"array", kBytes + sizeof(int)}};

const bool left_number_first = add_faulty({.name = "left_number_without_first_barrier",
                                           .what = "array[i + 1] = i while the neighbour has yet to read its element",
                                           .findings = kUnordered,
                                           .buffer = "array",
                                           .launch = {{1}, {kThreads}},
                                           .buffers = kArray,
                                           .run = on_buffers(times_left_number<false, true>),
                                           .right = on_buffers(times_left_number<true, true>)});
const bool left_number_second = add_faulty({.name = "left_number_without_second_barrier",
                                            .what = "array[i] is read while the neighbour has yet to store it",
                                            .findings = {"read after write", "write after read", "write after write"},
                                            .buffer = "array",
                                            .launch = {{1}, {kThreads}},
                                            .buffers = kArray,
                                            .run = on_buffers(times_left_number<true, false>)});

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
