/// Faults of who takes part: block barriers that some threads do not reach, and warp operations whose mask names lanes
/// that do not come, or leaves out those that do.
#include "tests/emulator/faulty/faulty.hpp"

namespace rung {
namespace {

constexpr int kThreads = 128, kWarp = 32;
constexpr unsigned kAll = 0xffffffffu;
constexpr std::size_t kBytes = kThreads * sizeof(int), kWarpBytes = kWarp * sizeof(int);
const std::vector<std::string> kUnordered = {"read after write", "write after read"};
const std::vector<FaultyBuffer> kInOut = {{"in", kBytes}, {"out", kBytes}};

/// The 48 cuts through a warp.
template <bool kRight>
__global__ void barrier_in_branch(const mem<int>* in, mem<int>* out) {
  __shared__ mem<int> tile[kThreads];
  const int t = threadIdx.x;
  tile[t] = in[t];
  if (t < 48) {
    if constexpr (!kRight) __syncthreads();
    tile[t] += 1;
  }
  __syncthreads();
  out[t] = tile[kThreads - 1 - t];
}

const bool in_branch = add_faulty({.name = "barrier_in_branch",
                                   .what = "a barrier that only the threads below 48 reach",
                                   .findings = {"divergent barrier"},
                                   .launch = {{1}, {kThreads}},
                                   .buffers = kInOut,
                                   .run = on_buffers(barrier_in_branch<false>),
                                   .right = on_buffers(barrier_in_branch<true>)});

template <bool kRight>
__global__ void barrier_in_each_branch(const mem<int>* in, mem<int>* out) {
  __shared__ mem<int> tile[kThreads];
  const int t = threadIdx.x;
  if (t % 2 == 0) {
    tile[t] = in[t];
    if constexpr (!kRight) __syncthreads();
  } else {
    tile[t] = -in[t];
    if constexpr (!kRight) __syncthreads();
  }
  if constexpr (kRight) __syncthreads();
  out[t] = tile[kThreads - 1 - t];
}

const bool two_places = add_faulty({.name = "barrier_in_each_branch",
                                    .what = "odd and even threads wait at two different barriers",
                                    .findings = {"divergent barrier"},
                                    .launch = {{1}, {kThreads}},
                                    .buffers = kInOut,
                                    .run = on_buffers(barrier_in_each_branch<false>),
                                    .right = on_buffers(barrier_in_each_branch<true>)});

template <bool kRight>
__global__ void barrier_in_uneven_loop(const mem<int>* in, mem<int>* out) {
  __shared__ mem<int> tile[kThreads];
  const int t = threadIdx.x;
  tile[t] = in[t];
  const int rounds = kRight ? 3 : 1 + t % 3;
  for (int i = 0; i < rounds; ++i) {
    tile[t] += 1;
    __syncthreads();
  }
  __syncthreads();
  out[t] = tile[kThreads - 1 - t];
}

const bool uneven_loop = add_faulty({.name = "barrier_in_uneven_loop",
                                     .what = "a barrier in a loop whose trip count differs between threads",
                                     .findings = {"divergent barrier"},
                                     .launch = {{1}, {kThreads}},
                                     .buffers = kInOut,
                                     .run = on_buffers(barrier_in_uneven_loop<false>),
                                     .right = on_buffers(barrier_in_uneven_loop<true>)});

template <bool kBarrier>
__global__ void reverse_warp(const mem<int>* in, mem<int>* out) {
  __shared__ mem<int> tile[kWarp];
  const int lane = threadIdx.x;
  tile[lane] = in[lane];
  if constexpr (kBarrier) __syncwarp();
  out[lane] = tile[kWarp - 1 - lane];
}

const std::vector<FaultyBuffer> kWarpInOut = {{"in", kWarpBytes}, {"out", kWarpBytes}};

const bool no_syncwarp = add_faulty({.name = "missing_syncwarp",
                                     .what = "lanes of a warp exchange through shared memory without __syncwarp",
                                     .findings = kUnordered,
                                     .buffer = "tile",
                                     .launch = {{1}, {kWarp}},
                                     .buffers = kWarpInOut,
                                     .run = on_buffers(reverse_warp<false>),
                                     .right = on_buffers(reverse_warp<true>)});

template <bool kBarrier>
__global__ void warp_tree_sum(const mem<int>* in, mem<int>* out) {
  __shared__ mem<int> sums[kWarp];
  const int lane = threadIdx.x;
  sums[lane] = in[lane];
  __syncwarp();
  for (int step = kWarp / 2; step > 0; step /= 2) {
    if (lane < step) sums[lane] += sums[lane + step];
    if constexpr (kBarrier) __syncwarp();
  }
  if (lane == 0) out[0] = sums[0];
}

const bool old_reduction = add_faulty({.name = "warp_reduction_without_syncwarp",
                                       .what = "the last warp of a reduction relies on lockstep",
                                       .findings = kUnordered,
                                       .buffer = "sums",
                                       .launch = {{1}, {kWarp}},
                                       .buffers = {{"in", kWarpBytes}, {"out", sizeof(int)}},
                                       .run = on_buffers(warp_tree_sum<false>),
                                       .right = on_buffers(warp_tree_sum<true>)});

constexpr int kTile = 16;
constexpr std::size_t kTileBytes = kTile * kTile * sizeof(float);

/// Half a warp loads a row of the tile of A and reads it: without a barrier, as in the course, it relies on lockstep.
/// Source: Blakely, "Using shared memory" (CUDA Best Practices Guide, coalescedMultiply).
template <bool kBarrier>
__global__ void product_by_tile_of_a(const mem<float>* a, const mem<float>* b, mem<float>* c) {
  __shared__ mem<float> tile[kTile][kTile];
  const int tx = threadIdx.x;
  const int ty = threadIdx.y;
  tile[ty][tx] = a[ty * kTile + tx];
  if constexpr (kBarrier) __syncwarp();
  reg<float> sum = 0;
  for (int i = 0; i < kTile; ++i) sum += tile[ty][i] * b[i * kTile + tx];
  c[ty * kTile + tx] = sum;
}

const bool tile_of_a =
    add_faulty({.name = "tile_of_a_without_barrier",
                .what = "skinny product: a warp reads its rows of A’s tile with no barrier after loading them",
                .findings = kUnordered,
                .buffer = "tile",
                .launch = {{1}, {kTile, kTile}},
                .buffers = {{"a", kTileBytes}, {"b", kTileBytes}, {"c", kTileBytes}},
                .run = on_buffers(product_by_tile_of_a<false>),
                .right = on_buffers(product_by_tile_of_a<true>)});

/// In the faulty one the last lane continues alone, while the first reads the element that it writes.
template <bool kRight>
__global__ void partial_syncwarp(const mem<int>* in, mem<int>* out) {
  __shared__ mem<int> tile[kWarp];
  const int lane = threadIdx.x;
  tile[lane] = in[lane];
  if constexpr (kRight) {
    __syncwarp(kAll);
  } else {
    if (lane != kWarp - 1) __syncwarp(kAll >> 1);
  }
  out[lane] = tile[kWarp - 1 - lane];
}

const bool lane_left_out = add_faulty({.name = "syncwarp_leaves_a_lane_out",
                                       .what = "a __syncwarp without the last lane, whose element is then read",
                                       .findings = kUnordered,
                                       .buffer = "tile",
                                       .launch = {{1}, {kWarp}},
                                       .buffers = kWarpInOut,
                                       .run = on_buffers(partial_syncwarp<false>),
                                       .right = on_buffers(partial_syncwarp<true>)});

template <bool kRight>
__global__ void syncwarp_in_branch(const mem<int>* in, mem<int>* out) {
  const int lane = threadIdx.x;
  int value = in[lane];
  if (lane < 16) {
    value += 1;
    __syncwarp(kRight ? 0xffffu : kAll);
  }
  out[lane] = __shfl_xor_sync(kAll, value, 16);
}

const bool branch_syncwarp = add_faulty({.name = "syncwarp_waits_for_another_branch",
                                         .what = "__syncwarp for all lanes in a branch that half of them take",
                                         .findings = {"divergent warp"},
                                         .launch = {{1}, {kWarp}},
                                         .buffers = kWarpInOut,
                                         .run = on_buffers(syncwarp_in_branch<false>),
                                         .right = on_buffers(syncwarp_in_branch<true>)});

/// In the faulty one the first step reads from the upper half, which has left.
template <bool kRight>
__global__ void shuffle_after_exit(const mem<int>* in, mem<int>* out) {
  const int lane = threadIdx.x;
  if (lane >= 16) return;
  int sum = in[lane];
  for (int step = kRight ? 8 : 16; step > 0; step /= 2) sum += __shfl_xor_sync(kRight ? 0xffffu : kAll, sum, step);
  out[lane] = sum;
}

const bool left_lanes = add_faulty({.name = "shuffle_names_lanes_that_left",
                                    .what = "the mask of a shuffle names lanes that have returned",
                                    .findings = {"divergent warp"},
                                    .launch = {{1}, {kWarp}},
                                    .buffers = kWarpInOut,
                                    .run = on_buffers(shuffle_after_exit<false>),
                                    .right = on_buffers(shuffle_after_exit<true>)});

template <bool kRight>
__global__ void shuffle_and_vote(const mem<int>* in, mem<int>* out) {
  const int lane = threadIdx.x;
  int value = in[lane];
  if (lane < 16) {
    value += __shfl_xor_sync(kRight ? 0xffffu : kAll, value, 1);
  } else {
    value += __any_sync(kRight ? 0xffff0000u : kAll, value != 0);
  }
  out[lane] = value;
}

const bool other_branch = add_faulty({.name = "shuffle_names_lanes_of_another_branch",
                                      .what = "one branch shuffles and the other votes, each with a mask of all lanes",
                                      .findings = {"divergent warp"},
                                      .launch = {{1}, {kWarp}},
                                      .buffers = kWarpInOut,
                                      .run = on_buffers(shuffle_and_vote<false>),
                                      .right = on_buffers(shuffle_and_vote<true>)});

/// The mask comes from memory, so that the compiler does not see what is wrong with it.
template <bool kRight>
__global__ void shuffle_own_lane(const mem<int>* in, mem<int>* out) {
  const int lane = threadIdx.x;
  const unsigned mask = kRight ? kAll : kAll - 1u - static_cast<unsigned>(in[0]);
  out[lane] = __shfl_xor_sync(mask, static_cast<int>(in[lane]), 1);
}

const bool own_lane = add_faulty({.name = "shuffle_mask_without_own_lane",
                                  .what = "lane 0 shuffles with a mask that leaves lane 0 out",
                                  .findings = {"divergent warp"},
                                  .launch = {{1}, {kWarp}},
                                  .buffers = kWarpInOut,
                                  .run = on_buffers(shuffle_own_lane<false>),
                                  .right = on_buffers(shuffle_own_lane<true>)});

template <bool kRight>
__global__ void ballot_in_branch(const mem<int>* in, mem<int>* out) {
  __shared__ mem<int> votes;
  const int lane = threadIdx.x;
  const bool is_even = in[lane] % 2 == 0;
  if constexpr (kRight) {
    const unsigned all = __ballot_sync(kAll, is_even);
    if (lane == 0) votes = static_cast<int>(all);
  } else {
    if (lane == 0) votes = static_cast<int>(__ballot_sync(kAll, is_even));
  }
  __syncwarp();
  out[lane] = votes;
}

const bool branch_ballot = add_faulty({.name = "ballot_in_branch",
                                       .what = "__ballot_sync of all lanes in a branch that one of them takes",
                                       .findings = {"divergent warp"},
                                       .launch = {{1}, {kWarp}},
                                       .buffers = kWarpInOut,
                                       .run = on_buffers(ballot_in_branch<false>),
                                       .right = on_buffers(ballot_in_branch<true>)});

/// An index that steps over its end and wraps around: 2 * step never is 127.
template <unsigned kEnd>
__global__ void steps_over_its_end(const mem<int>* in, mem<int>* out) {
  int sum = 0;
  for (unsigned i = 0; i != kEnd; i += 2) sum += in[i % kThreads];
  out[threadIdx.x] = sum;
}

const bool runaway = add_faulty({.name = "runaway_loop",
                                 .what = "a loop whose index steps over its end",
                                 .findings = {"runaway"},
                                 .runs_away = true,
                                 .launch = {{1}, {kWarp}},
                                 .buffers = kInOut,
                                 .run = on_buffers(steps_over_its_end<kThreads - 1>),
                                 .right = on_buffers(steps_over_its_end<kThreads>)});

/// Stores its sum at the end of its life. For a function with such a variable the compiler writes down which calls may
/// throw: those with which the emulator follows a loop are not among them.
struct StoredAtEnd {
  mem<int>& to;
  int sum = 0;
  __device__ ~StoredAtEnd() { to = sum; }
};

template <unsigned kEnd>
__global__ void steps_over_its_end_and_stores(const mem<int>* in, mem<int>* out) {
  StoredAtEnd stored{out[threadIdx.x]};
  for (unsigned i = 0; i != kEnd; i += 2) stored.sum += in[i % kThreads];
}

const bool runaway_with_destructor =
    add_faulty({.name = "runaway_loop_before_destructor",
                .what = "a loop whose index steps over its end, before a destructor that stores",
                .findings = {"runaway"},
                .runs_away = true,
                .launch = {{1}, {kWarp}},
                .buffers = kInOut,
                .run = on_buffers(steps_over_its_end_and_stores<kThreads - 1>),
                .right = on_buffers(steps_over_its_end_and_stores<kThreads>)});

}  // namespace
}  // namespace rung
