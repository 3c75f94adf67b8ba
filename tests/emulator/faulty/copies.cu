/// Faults of asynchronous copies from global to shared memory: the thread that started them has to wait before it reads
/// the data, and other threads also need a barrier after that.
#include "tests/emulator/faulty/faulty.hpp"

namespace rung {
namespace {

constexpr int kThreads = 64, kPhases = 4;
constexpr std::size_t kBytes = kThreads * sizeof(float);
const std::vector<FaultyBuffer> kInOut = {{"in", kBytes}, {"out", kBytes}};
const std::vector<std::string> kUnfinished = {"unfinished copy"};
const std::vector<std::string> kUnordered = {"read after write", "write after read"};

template <bool kWait>
__global__ void copy_own(const mem<float>* in, mem<float>* out) {
  __shared__ mem<float> tile[kThreads];
  const int t = threadIdx.x;
  __pipeline_memcpy_async(&tile[t], &in[t], sizeof(float));
  __pipeline_commit();
  if constexpr (kWait) __pipeline_wait_prior(0);
  out[t] = 2.0f * tile[t];
}

const bool no_wait = add_faulty({.name = "copy_without_wait",
                                 .what = "an element is used before its asynchronous copy was waited for",
                                 .findings = kUnfinished,
                                 .buffer = "tile",
                                 .launch = {{1}, {kThreads}},
                                 .buffers = kInOut,
                                 .run = on_buffers(copy_own<false>),
                                 .right = on_buffers(copy_own<true>)});

template <bool kWait, bool kBarrier>
__global__ void copy_and_reverse(const mem<float>* in, mem<float>* out) {
  __shared__ mem<float> tile[kThreads];
  const int t = threadIdx.x;
  __pipeline_memcpy_async(&tile[t], &in[t], sizeof(float));
  __pipeline_commit();
  if constexpr (kWait) __pipeline_wait_prior(0);
  if constexpr (kBarrier) __syncthreads();
  out[t] = tile[kThreads - 1 - t];
}

const bool barrier_alone = add_faulty({.name = "copy_with_barrier_without_wait",
                                       .what = "a barrier, but no wait, between asynchronous copies and their use",
                                       .findings = kUnfinished,
                                       .buffer = "tile",
                                       .launch = {{1}, {kThreads}},
                                       .buffers = kInOut,
                                       .run = on_buffers(copy_and_reverse<false, true>),
                                       .right = on_buffers(copy_and_reverse<true, true>)});
const bool wait_alone = add_faulty({.name = "copy_with_wait_without_barrier",
                                    .what = "each thread waits for its own copy, then reads another’s, no barrier",
                                    .findings = kUnordered,
                                    .buffer = "tile",
                                    .launch = {{1}, {kThreads}},
                                    .buffers = kInOut,
                                    .run = on_buffers(copy_and_reverse<true, false>)});

/// Two stages: while one is used, the copy into the next is in flight. kOpen: how many groups of copies may be in
/// flight when a stage is used; with the next one committed just before, 1 is right and 2 waits for nothing.
template <int kOpen, bool kBarrier>
__global__ void two_stages(const mem<float>* in, mem<float>* out) {
  __shared__ mem<float> tile[2][kThreads];
  const int t = threadIdx.x;
  reg<float> sum = 0;
  __pipeline_memcpy_async(&tile[0][t], &in[t], sizeof(float));
  __pipeline_commit();
  for (int phase = 0; phase < kPhases; ++phase) {
    if (phase + 1 < kPhases)
      __pipeline_memcpy_async(&tile[(phase + 1) % 2][t], &in[(phase + 1) * kThreads + t], sizeof(float));
    __pipeline_commit();
    __pipeline_wait_prior(kOpen);
    __syncthreads();
    sum += tile[phase % 2][kThreads - 1 - t];
    if constexpr (kBarrier) __syncthreads();
  }
  out[t] = sum;
}

const std::vector<FaultyBuffer> kStages = {{"in", kPhases* kBytes}, {"out", kBytes}};

const bool stale_stage = add_faulty({.name = "pipeline_waits_for_too_little",
                                     .what = "a pipeline of two stages lets both be in flight when one is used",
                                     .findings = kUnfinished,
                                     .buffer = "tile",
                                     .launch = {{1}, {kThreads}},
                                     .buffers = kStages,
                                     .run = on_buffers(two_stages<2, true>),
                                     .right = on_buffers(two_stages<1, true>)});
const bool early_copy = add_faulty({.name = "pipeline_refills_stage_in_use",
                                    .what = "a pipeline starts to refill a stage before all threads have used it",
                                    .findings = {"read after write", "write after read", "unfinished copy"},
                                    .buffer = "tile",
                                    .launch = {{1}, {kThreads}},
                                    .buffers = kStages,
                                    .run = on_buffers(two_stages<1, false>)});

}  // namespace
}  // namespace rung
