/// Faults of uninitialised memory: shared memory, all of it or a border, and global memory that neither the host nor a
/// kernel filled.
#include "tests/emulator/faulty/faulty.hpp"

namespace rung {
namespace {

constexpr int kThreads = 128;
constexpr std::size_t kBytes = kThreads * sizeof(float);
const std::vector<FaultyBuffer> kInOut = {{"in", kBytes}, {"out", kBytes}};
const std::vector<FaultyBuffer> kInScratchOut = {{"in", kBytes}, {"scratch", kBytes, false}, {"out", kBytes}};
const std::vector<std::string> kShared = {"uninitialised shared memory"};
const std::vector<std::string> kGlobal = {"uninitialised global memory"};

template <bool kLoad>
__global__ void never_filled(const mem<float>* in, mem<float>* out) {
  __shared__ mem<float> tile[kThreads];
  const int t = threadIdx.x;
  if constexpr (kLoad) tile[t] = in[t];
  __syncthreads();
  out[t] = tile[t] + in[t];
}

const bool whole_tile = add_faulty({.name = "uninitialised_tile",
                                    .what = "a shared tile that is read and never filled",
                                    .findings = kShared,
                                    .buffer = "tile",
                                    .launch = {{1}, {kThreads}},
                                    .buffers = kInOut,
                                    .run = on_buffers(never_filled<false>),
                                    .right = on_buffers(never_filled<true>)});

template <int kFirst>
__global__ void without_a_column(const mem<float>* in, mem<float>* out) {
  __shared__ mem<float> tile[16][16];
  const int tx = threadIdx.x;
  const int ty = threadIdx.y;
  if (tx >= kFirst) tile[ty][tx] = in[ty * 16 + tx];
  __syncthreads();
  out[ty * 16 + tx] = tile[tx][ty];
}

const bool one_column = add_faulty({.name = "uninitialised_column",
                                    .what = "a shared tile that is filled except for its first column",
                                    .findings = kShared,
                                    .buffer = "tile",
                                    .launch = {{1}, {16, 16}},
                                    .buffers = {{"in", 256 * sizeof(float)}, {"out", 256 * sizeof(float)}},
                                    .run = on_buffers(without_a_column<1>),
                                    .right = on_buffers(without_a_column<0>)});

/// A three-point mean; the first and the last element have a neighbour that is outside.
template <bool kHalo>
__global__ void smoothed(const mem<float>* in, mem<float>* out) {
  __shared__ mem<float> tile[kThreads + 2];
  const int t = threadIdx.x;
  tile[t + 1] = in[t];
  if constexpr (kHalo) {
    if (t == 0) tile[0] = 0.0f;
    if (t == kThreads - 1) tile[kThreads + 1] = 0.0f;
  }
  __syncthreads();
  out[t] = (tile[t] + tile[t + 1] + tile[t + 2]) / 3.0f;
}

const bool halo = add_faulty({.name = "uninitialised_halo",
                              .what = "a stencil whose tile is filled except for the halo",
                              .findings = kShared,
                              .buffer = "tile",
                              .launch = {{1}, {kThreads}},
                              .buffers = kInOut,
                              .run = on_buffers(smoothed<false>),
                              .right = on_buffers(smoothed<true>)});

template <bool kWrite>
__global__ void from_scratch(const mem<float>* in, mem<float>* scratch, mem<float>* out) {
  const int t = threadIdx.x;
  if constexpr (kWrite) scratch[t] = in[t];
  out[t] = in[t] + scratch[t];
}

const bool global_read = add_faulty({.name = "uninitialised_global",
                                     .what = "global memory is read that was allocated and never written",
                                     .findings = kGlobal,
                                     .buffer = "scratch",
                                     .launch = {{1}, {kThreads}},
                                     .buffers = kInScratchOut,
                                     .run = on_buffers(from_scratch<false>),
                                     .right = on_buffers(from_scratch<true>)});

template <int kStep>
__global__ void fill_scratch(const mem<float>* in, mem<float>* scratch) {
  const int t = threadIdx.x;
  if (t % kStep == 0) scratch[t] = in[t];
}
__global__ void read_scratch(const mem<float>* scratch, mem<float>* out) {
  const int t = threadIdx.x;
  out[t] = scratch[t];
}
template <int kStep>
void fill_then_read(const Call& call) {
  launch(call, fill_scratch<kStep>, call.operand<const mem<float>>(0), call.operand<mem<float>>(1));
  launch(call, read_scratch, call.operand<const mem<float>>(1), call.operand<mem<float>>(2));
}

const bool half_filled = add_faulty({.name = "scratch_filled_by_half",
                                     .what = "one kernel writes every other element, the next one reads all",
                                     .findings = kGlobal,
                                     .buffer = "scratch",
                                     .launch = {{1}, {kThreads}},
                                     .buffers = kInScratchOut,
                                     .run = fill_then_read<2>,
                                     .right = fill_then_read<1>});

__global__ void set_to_zero(mem<float>* sum) {
  if (threadIdx.x == 0) sum[0] = 0.0f;
}
__global__ void add_all(const mem<float>* in, mem<float>* sum) {
  atomicAdd(&sum[0], static_cast<float>(in[threadIdx.x]));
}
/// A sum by atomics; its caller must have set the sum to zero.
template <bool kZero>
void summed(const Call& call) {
  if constexpr (kZero) launch(call, set_to_zero, call.operand<mem<float>>(1));
  launch(call, add_all, call.operand<const mem<float>>(0), call.operand<mem<float>>(1));
}

const bool sum_start = add_faulty({.name = "sum_not_zeroed",
                                   .what = "atomics add to global memory that was never set to zero",
                                   .findings = kGlobal,
                                   .buffer = "sum",
                                   .launch = {{1}, {kThreads}},
                                   .buffers = {{"in", kBytes}, {"sum", sizeof(float), false}},
                                   .run = summed<false>,
                                   .right = summed<true>});

}  // namespace
}  // namespace rung
