/// Faults of addresses: beyond the end of an array, before its start, or not aligned to the access. The arrays have 100
/// elements, no multiple of anything, so that what follows one is not the next.
#include "tests/emulator/faulty/faulty.hpp"

namespace rung {
namespace {

constexpr int kSize = 100, kThreads = 128;
constexpr std::size_t kBytes = kSize * sizeof(float);
const std::vector<std::string> kOutside = {"out of bounds"};
const std::vector<FaultyBuffer> kInOut = {{"in", kBytes}, {"out", kBytes}};

/// The differences of neighbours; the faulty one goes one too far at the end.
template <int kLast>
__global__ void forward_difference(const mem<float>* in, mem<float>* out) {
  const int i = threadIdx.x;
  if (i < kLast) out[i] = in[i + 1] - in[i];
}

const bool read_beyond = add_faulty({.name = "read_beyond_by_one",
                                     .what = "global memory: reads one element beyond the end",
                                     .findings = kOutside,
                                     .buffer = "in",
                                     .launch = {{1}, {kThreads}},
                                     .buffers = kInOut,
                                     .run = on_buffers(forward_difference<kSize>),
                                     .right = on_buffers(forward_difference<kSize - 1>)});

template <bool kRight>
__global__ void copy_inclusive(const mem<float>* in, mem<float>* out) {
  const int i = threadIdx.x;
  if (kRight ? i < kSize : i <= kSize) out[i] = in[i % kSize];
}

const bool write_beyond = add_faulty({.name = "write_beyond_by_one",
                                      .what = "global memory: writes one element beyond the end, i <= n",
                                      .findings = kOutside,
                                      .buffer = "out",
                                      .launch = {{1}, {kThreads}},
                                      .buffers = kInOut,
                                      .run = on_buffers(copy_inclusive<false>),
                                      .right = on_buffers(copy_inclusive<true>)});

template <int kFirst>
__global__ void backward_difference(const mem<float>* in, mem<float>* out) {
  const int i = threadIdx.x;
  if (i >= kFirst && i < kSize) out[i] = in[i] - in[i - 1];
}

const bool read_before = add_faulty({.name = "read_before_start",
                                     .what = "global memory: reads the element before the first",
                                     .findings = kOutside,
                                     .buffer = "in",
                                     .launch = {{1}, {kThreads}},
                                     .buffers = kInOut,
                                     .run = on_buffers(backward_difference<0>),
                                     .right = on_buffers(backward_difference<1>)});

/// The grid is rounded up to whole blocks; the faulty one forgets that.
template <bool kGuard>
__global__ void scaled(const mem<float>* in, mem<float>* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (!kGuard || i < kSize) out[i] = 2.0f * in[i % kSize];
}

const bool unguarded = add_faulty({.name = "missing_guard",
                                   .what = "the last block has more threads than there are elements left",
                                   .findings = kOutside,
                                   .buffer = "out",
                                   .launch = {{blocks_for(kSize, 32)}, {32}},
                                   .buffers = kInOut,
                                   .run = on_buffers(scaled<false>),
                                   .right = on_buffers(scaled<true>)});

/// Each thread stores its number in the next element: the last one has none, unless the array is one longer.
/// Source: Blakely, "Potential global memory access problem".
template <bool kGuard>
__global__ void number_to_the_right(mem<int>* array) {
  const int i = threadIdx.x;
  if (!kGuard || i + 1 < kSize) array[i + 1] = i;
}

const bool number_beyond =
    add_faulty({.name = "left_number_beyond_the_array",
                .what = "array[i + 1] = i by a thread for each element: the last one stores beyond the array",
                .findings = kOutside,
                .buffer = "array",
                .launch = {{1}, {kSize}},
                .buffers = {{"array", kSize * sizeof(int)}},
                .run = on_buffers(number_to_the_right<false>),
                .right = on_buffers(number_to_the_right<true>)});

template <bool kRight>
__global__ void shared_beyond(const mem<float>* in, mem<float>* out) {
  __shared__ mem<float> tile[kSize];
  const int t = threadIdx.x;
  if (kRight ? t < kSize : t <= kSize) tile[t] = in[t % kSize];
  __syncthreads();
  if (t < kSize) out[t] = tile[kSize - 1 - t];
}

const bool static_shared = add_faulty({.name = "static_shared_beyond_by_one",
                                       .what = "writes one element beyond a shared array",
                                       .findings = kOutside,
                                       .buffer = "tile",
                                       .launch = {{1}, {kThreads}},
                                       .buffers = kInOut,
                                       .run = on_buffers(shared_beyond<false>),
                                       .right = on_buffers(shared_beyond<true>)});

template <bool kRight>
__global__ void dynamic_beyond(const mem<float>* in, mem<float>* out) {
  mem<float>* tile = dynamic_shared<mem<float>>();
  const int t = threadIdx.x;
  if (kRight ? t < kSize : t <= kSize) tile[t] = in[t % kSize];
  __syncthreads();
  if (t < kSize) out[t] = tile[kSize - 1 - t];
}

const bool dynamic = add_faulty({.name = "dynamic_shared_beyond_by_one",
                                 .what = "writes one element beyond the dynamic shared memory of the launch",
                                 .findings = kOutside,
                                 .buffer = "dynamic shared memory",
                                 .launch = {{1}, {kThreads}, kBytes},
                                 .buffers = kInOut,
                                 .run = on_buffers(dynamic_beyond<false>),
                                 .right = on_buffers(dynamic_beyond<true>)});

/// The dynamic shared memory holds two tiles; the second begins kOffset elements after the first. In the faulty kernel
/// kOffset is the tile's size in bytes, which would be right for a pointer to char. Source: PMPP 4e, fig. 5.14.
template <int kOffset>
__global__ void product_of_two_dynamic_tiles(const mem<float>* in, mem<float>* out) {
  mem<float>* as = dynamic_shared<mem<float>>();
  mem<float>* bs = as + kOffset;
  const int tx = threadIdx.x;
  const int ty = threadIdx.y;
  as[ty * 16 + tx] = in[ty * 16 + tx];
  bs[ty * 16 + tx] = in[ty * 16 + tx];
  __syncthreads();
  reg<float> sum = 0;
  for (int i = 0; i < 16; ++i) sum += as[ty * 16 + i] * bs[i * 16 + tx];
  out[ty * 16 + tx] = sum;
}

const bool byte_offset =
    add_faulty({.name = "tile_offset_in_bytes",
                .what = "the second tile in dynamic shared memory begins its size in bytes, not in "
                        "elements, after the first",
                .findings = kOutside,
                .buffer = "dynamic shared memory",
                .launch = {{1}, {16, 16}, 2 * 256 * sizeof(float)},
                .buffers = {{"in", 256 * sizeof(float)}, {"out", 256 * sizeof(float)}},
                .run = on_buffers(product_of_two_dynamic_tiles<256 * sizeof(float)>),
                .right = on_buffers(product_of_two_dynamic_tiles<256>)});

/// Column 0 of each row keeps the left neighbour; the faulty tile has no room for that, so the last element of a row
/// is the first of the next one.
template <int kWidth>
__global__ void tile_with_left_column(const mem<float>* in, mem<float>* out) {
  __shared__ mem<float> tile[16][kWidth];
  const int tx = threadIdx.x;
  const int ty = threadIdx.y;
  tile[ty][tx + 1] = in[ty * 16 + tx];
  if (tx == 0) tile[ty][0] = 0.0f;
  __syncthreads();
  out[ty * 16 + tx] = tile[ty][tx + 1] - tile[ty][tx];
}

const bool row_overrun = add_faulty({.name = "row_of_shared_tile_beyond_by_one",
                                     .what = "tile[ty][16] of a 16 × 16 tile: the next row’s first element",
                                     .findings = {"write after write", "out of bounds"},
                                     .buffer = "tile",
                                     .launch = {{1}, {16, 16}},
                                     .buffers = {{"in", 256 * sizeof(float)}, {"out", 256 * sizeof(float)}},
                                     .run = on_buffers(tile_with_left_column<16>),
                                     .right = on_buffers(tile_with_left_column<17>)});

template <int kOffset>
__global__ void copy_by_four(mem<float>* in, mem<float>* out) {
  const int i = threadIdx.x;
  if (i < kSize / 4 - 1) vector_cast<float4>(out)[i] = vector_cast<float4>(in + kOffset)[i];
}

const bool misaligned = add_faulty({.name = "misaligned_vector",
                                    .what = "a 16-byte load from an address that is a multiple of 4 only",
                                    .findings = {"misaligned access"},
                                    .buffer = "in",
                                    .launch = {{1}, {32}},
                                    .buffers = kInOut,
                                    .run = on_buffers(copy_by_four<1>),
                                    .right = on_buffers(copy_by_four<4>)});

/// 99 of the 100 elements are wanted; in fours they end at the 100th, or, in the shorter array, beyond.
template <bool kRight>
__global__ void tail_by_four(mem<float>* in, mem<float>* out) {
  constexpr int kWanted = kSize - 1;
  const int i = threadIdx.x;
  if (4 * i >= kWanted) return;
  if (!kRight || 4 * i + 3 < kWanted) {
    vector_cast<float4>(out)[i] = vector_cast<float4>(in)[i];
  } else {
    for (int j = 4 * i; j < kWanted; ++j) out[j] = in[j];
  }
}

const bool vector_tail = add_faulty({.name = "vector_tail_beyond",
                                     .what = "the last 16-byte load lies partly beyond the end",
                                     .findings = kOutside,
                                     .buffer = "in",
                                     .launch = {{1}, {32}},
                                     .buffers = {{"in", kBytes - sizeof(float)}, {"out", kBytes}},
                                     .run = on_buffers(tail_by_four<false>),
                                     .right = on_buffers(tail_by_four<true>)});

}  // namespace
}  // namespace rung
