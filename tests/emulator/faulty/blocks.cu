/// Faults in global memory and of updates: accesses of two blocks, or of two threads, that nothing orders.
#include "tests/emulator/faulty/faulty.hpp"

namespace rung {
namespace {

constexpr int kBlocks = 4, kThreads = 64, kSize = kBlocks * kThreads, kBins = 8;
constexpr std::size_t kBytes = kSize * sizeof(int);
const Launch kGrid = {{kBlocks}, {kThreads}};
const std::vector<std::string> kBetween = {"race between blocks"};
const std::vector<std::string> kWithin = {"read after write", "write after read", "write after write"};

template <bool kRight>
__global__ void one_element(mem<int>* out) {
  if (threadIdx.x == 0) out[kRight ? blockIdx.x : 0] = static_cast<int>(blockIdx.x);
}

const bool same_element = add_faulty({.name = "blocks_store_same_element",
                                      .what = "every block stores its number in the same element",
                                      .findings = kBetween,
                                      .buffer = "out",
                                      .launch = kGrid,
                                      .buffers = {{"out", kBytes}},
                                      .run = on_buffers(one_element<false>),
                                      .right = on_buffers(one_element<true>)});

template <bool kRight>
__global__ void winner(mem<int>* out) {
  const int t = threadIdx.x;
  if (!kRight || t == 0) out[blockIdx.x] = t + 1;
}

const bool same_thread_element = add_faulty({.name = "threads_store_same_element",
                                             .what = "every thread of a block stores its number in the same element",
                                             .findings = {"write after write"},
                                             .buffer = "out",
                                             .launch = kGrid,
                                             .buffers = {{"out", kBlocks * sizeof(int)}},
                                             .run = on_buffers(winner<false>),
                                             .right = on_buffers(winner<true>)});

template <bool kAtomic>
__global__ void histogram(const mem<int>* in, mem<int>* bins) {
  const int bin = (in[blockIdx.x * kThreads + threadIdx.x] + static_cast<int>(threadIdx.x)) % kBins;
  if constexpr (kAtomic) {
    atomicAdd(&bins[bin], 1);
  } else {
    bins[bin] += 1;
  }
}

const bool plain_histogram = add_faulty({.name = "histogram_without_atomics",
                                         .what = "a histogram that counts with += instead of atomicAdd",
                                         .findings = kBetween,
                                         .buffer = "bins",
                                         .launch = kGrid,
                                         .buffers = {{"in", kBytes}, {"bins", kBins * sizeof(int)}},
                                         .run = on_buffers(histogram<false>),
                                         .right = on_buffers(histogram<true>)});

/// One thread a block, so that only blocks can race.
template <bool kAtomic>
__global__ void sum_of_blocks(const mem<int>* in, mem<int>* sum) {
  int partial = 0;
  for (int i = 0; i < kThreads; ++i) partial += in[blockIdx.x * kThreads + i];
  if constexpr (kAtomic) {
    atomicAdd(&sum[0], partial);
  } else {
    sum[0] += partial;
  }
}

const bool plain_sum = add_faulty({.name = "sum_across_blocks_without_atomics",
                                   .what = "each block adds its part to one sum with +=",
                                   .findings = kBetween,
                                   .buffer = "sum",
                                   .launch = {{kBlocks}, {1}},
                                   .buffers = {{"in", kBytes}, {"sum", sizeof(int)}},
                                   .run = on_buffers(sum_of_blocks<false>),
                                   .right = on_buffers(sum_of_blocks<true>)});

template <bool kAtomic>
__global__ void count_in_block(const mem<int>* in, mem<int>* out) {
  __shared__ mem<int> count;
  const int t = threadIdx.x;
  if (t == 0) count = 0;
  __syncthreads();
  if (in[t] == 0) {
    if constexpr (kAtomic) {
      atomicAdd(&count, 1);
    } else {
      count += 1;
    }
  }
  __syncthreads();
  if (t == 0) out[0] = count;
}

const bool plain_counter = add_faulty({.name = "shared_counter_without_atomics",
                                       .what = "the threads of a block count with += in shared memory",
                                       .findings = kWithin,
                                       .buffer = "count",
                                       .launch = {{1}, {kThreads}},
                                       .buffers = {{"in", kBytes}, {"out", sizeof(int)}},
                                       .run = on_buffers(count_in_block<false>),
                                       .right = on_buffers(count_in_block<true>)});

enum class Fence { none, block, device };

template <Fence kFence>
__device__ __forceinline__ void fence_for() {
  if constexpr (kFence == Fence::block) __threadfence_block();
  if constexpr (kFence == Fence::device) __threadfence();
}

/// Each block stores its partial sum; the one that comes last, by a ticket, adds them up. Without a fence for the whole
/// device a ticket may be seen before the partial sum that it stands for.
template <Fence kFence>
__global__ void last_block_sums(const mem<int>* in, mem<int>* partials, mem<int>* tickets, mem<int>* out) {
  __shared__ mem<int> is_last;
  if (threadIdx.x == 0) {
    int partial = 0;
    for (int i = 0; i < kThreads; ++i) partial += in[blockIdx.x * kThreads + i];
    partials[blockIdx.x] = partial;
    fence_for<kFence>();
    is_last = atomicAdd(&tickets[0], 1) == kBlocks - 1 ? 1 : 0;
  }
  __syncthreads();
  if (is_last && threadIdx.x == 0) {
    int sum = 0;
    for (int i = 0; i < kBlocks; ++i) sum += partials[i];
    out[0] = sum;
  }
}

const bool fence = add_faulty(
    {.name = "last_block_without_fence",
     .what = "the last block adds up all partial sums, with no __threadfence before its ticket",
     .findings = kBetween,
     .buffer = "partials",
     .launch = kGrid,
     .buffers = {{"in", kBytes}, {"partials", kBlocks * sizeof(int)}, {"tickets", sizeof(int)}, {"out", sizeof(int)}},
     .run = on_buffers(last_block_sums<Fence::none>),
     .right = on_buffers(last_block_sums<Fence::device>)});
const bool block_fence = add_faulty(
    {.name = "last_block_with_block_fence",
     .what = "the last block adds up all partial sums, with only __threadfence_block before its ticket",
     .findings = kBetween,
     .buffer = "partials",
     .launch = kGrid,
     .buffers = {{"in", kBytes}, {"partials", kBlocks * sizeof(int)}, {"tickets", sizeof(int)}, {"out", sizeof(int)}},
     .run = on_buffers(last_block_sums<Fence::block>)});

constexpr int kRing = 128, kLine = 32, kTries = 200;

/// Each block stores a number and then sets its flag; it looks for the flag of the next block for a while, and if it
/// sees it, takes that block's number, which must be there.
template <Fence kFence>
__global__ void ring_of_flags(mem<int>* numbers, mem<int>* flags, mem<int>* out) {
  const int mine = blockIdx.x * kLine;
  const int next = (blockIdx.x + 1) % kRing * kLine;  // in another sector of memory
  numbers[mine] = 1;
  fence_for<kFence>();
  atomicExch(&flags[mine], 1);
  int taken = 1;
  for (int tries = 0; tries < kTries; ++tries)
    if (atomicAdd(&flags[next], 0) == 1) {
      fence_for<kFence>();
      taken = numbers[next];
      break;
    }
  out[blockIdx.x] = taken;
}

constexpr std::size_t kLines = kRing * kLine * sizeof(int);

const bool flag = add_faulty({.name = "flag_without_fence",
                              .what = "a number and then a flag for another block, with no __threadfence between them",
                              .findings = kBetween,
                              .buffer = "numbers",
                              .launch = {{kRing}, {1}},
                              .buffers = {{"numbers", kLines}, {"flags", kLines}, {"out", kRing * sizeof(int)}},
                              .run = on_buffers(ring_of_flags<Fence::none>),
                              .right = on_buffers(ring_of_flags<Fence::device>)});
const bool block_flag =
    add_faulty({.name = "flag_with_block_fence",
                .what = "a number and then a flag for another block, with only __threadfence_block between them",
                .findings = kBetween,
                .buffer = "numbers",
                .launch = {{kRing}, {1}},
                .buffers = {{"numbers", kLines}, {"flags", kLines}, {"out", kRing * sizeof(int)}},
                .run = on_buffers(ring_of_flags<Fence::block>)});

template <bool kFirst, bool kSecond>
__global__ void shift_by_block(const mem<int>* in, mem<int>* middle, mem<int>* out) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  if constexpr (kFirst) middle[i] = in[i] + 1;
  __syncthreads();
  if constexpr (kSecond) out[i] = middle[(i + kThreads) % kSize];
}
void shift_in_two_launches(const Call& call) {
  on_buffers(shift_by_block<true, false>)(call);
  on_buffers(shift_by_block<false, true>)(call);
}

const bool neighbour_block = add_faulty({.name = "reads_neighbour_block",
                                         .what = "a block reads what the next block stores in the same launch",
                                         .findings = kBetween,
                                         .buffer = "middle",
                                         .launch = kGrid,
                                         .buffers = {{"in", kBytes}, {"middle", kBytes}, {"out", kBytes}},
                                         .run = on_buffers(shift_by_block<true, true>),
                                         .right = shift_in_two_launches});

/// In place: a block replaces the elements whose old values its neighbour still needs.
template <bool kFirst, bool kSecond>
__global__ void shift_left(mem<int>* in, mem<int>* out) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  if constexpr (kFirst) out[i] = i + 1 < kSize ? static_cast<int>(in[i + 1]) : 0;
  __syncthreads();
  if constexpr (kSecond) in[i] = out[i];
}
void shift_left_in_two_launches(const Call& call) {
  on_buffers(shift_left<true, false>)(call);
  on_buffers(shift_left<false, true>)(call);
}

const bool in_place = add_faulty({.name = "in_place_across_blocks",
                                  .what = "a shift in place: a block overwrites what its neighbour has yet to read",
                                  .findings = kBetween,
                                  .buffer = "in",
                                  .launch = kGrid,
                                  .buffers = {{"in", kBytes}, {"out", kBytes}},
                                  .run = on_buffers(shift_left<true, true>),
                                  .right = shift_left_in_two_launches});

template <bool kRead>
__global__ void running_total(const mem<int>* in, mem<int>* total, mem<int>* out) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  const int before = atomicAdd(&total[0], static_cast<int>(in[i]));
  if constexpr (kRead) {
    out[i] = total[0];
  } else {
    out[i] = before;
  }
}

const bool mixed = add_faulty({.name = "atomic_and_plain_read",
                               .what = "a total that some threads update atomically while others simply read it",
                               .findings = kBetween,
                               .buffer = "total",
                               .launch = kGrid,
                               .buffers = {{"in", kBytes}, {"total", sizeof(int)}, {"out", kBytes}},
                               .run = on_buffers(running_total<true>),
                               .right = on_buffers(running_total<false>)});

constexpr int kWidth = 4, kTileWidth = 2;
constexpr std::size_t kMatrix = kWidth * kWidth * sizeof(float);

/// Source: Zhou, "Matrix Multiply": the kernel, and its launch, which passes the width of a tile for the matrix's.
__global__ void product_of_width(const mem<float>* a, const mem<float>* b, mem<float>* c, int width) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  const int col = blockIdx.x * blockDim.x + threadIdx.x;
  reg<float> sum = 0;
  for (int k = 0; k < width; ++k) sum += a[row * width + k] * b[k * width + col];
  c[row * width + col] = sum;
}
template <int kPassed>
void multiply_with_width(const Call& call) {
  launch(call, product_of_width, call.operand<const mem<float>>(0), call.operand<const mem<float>>(1),
         call.operand<mem<float>>(2), kPassed);
}

const bool passed_tile_width =
    add_faulty({.name = "tile_width_passed_for_width",
                .what = "a product that is launched with a tile’s width for the matrix’s",
                .findings = kBetween,
                .buffer = "c",
                .launch = {{kWidth / kTileWidth, kWidth / kTileWidth}, {kTileWidth, kTileWidth}},
                .buffers = {{"a", kMatrix}, {"b", kMatrix}, {"c", kMatrix}},
                .run = multiply_with_width<kTileWidth>,
                .right = multiply_with_width<kWidth>});

/// Blocks count up to a limit, one after another under a lock. One that finds the limit reached has nothing to add; if
/// it returns at once, the lock is never free again, and the next block waits for ever.
template <bool kGivesBack>
__global__ void count_under_lock(mem<int>* lock, volatile mem<int>* total) {
  constexpr int kLimit = 1;
  if (threadIdx.x != 0) return;
  while (atomicCAS(&lock[0], 0, 1) != 0) {
  }
  __threadfence();
  const int before = total[0];
  if constexpr (!kGivesBack) {
    if (before >= kLimit) return;
  }
  if (before < kLimit) total[0] = before + 1;
  __threadfence();
  atomicExch(&lock[0], 0);
}

const bool kept_lock = add_faulty({.name = "lock_kept_by_early_return",
                                   .what = "a lock that a block keeps when it returns early",
                                   .findings = {"runaway"},
                                   .runs_away = true,
                                   .launch = {{3}, {32}},
                                   .buffers = {{"lock", sizeof(int)}, {"total", sizeof(int)}},
                                   .run = on_buffers(count_under_lock<false>),
                                   .right = on_buffers(count_under_lock<true>)});

constexpr int kMoreThanRun = 1 << 15;

/// Blocks that all wait for each other. A GPU holds only a part of them at a time: the others never begin. Right: no
/// block waits, and the one that arrives last continues.
template <bool kWaits>
__global__ void after_all_blocks(mem<int>* arrived, mem<int>* out) {
  const int before = atomicAdd(&arrived[0], 1);
  if constexpr (kWaits) {
    while (atomicAdd(&arrived[0], 0) != kMoreThanRun) {
    }
  }
  if (kWaits ? blockIdx.x == 0 : before == kMoreThanRun - 1) out[0] = 1;
}

const bool all_blocks = add_faulty({.name = "waits_for_blocks_not_started",
                                    .what = "a barrier of the whole grid, which has more blocks than run at once",
                                    .findings = {"runaway"},
                                    .runs_away = true,
                                    .launch = {{kMoreThanRun}, {1}},
                                    .buffers = {{"arrived", sizeof(int)}, {"out", sizeof(int)}},
                                    .run = on_buffers(after_all_blocks<true>),
                                    .right = on_buffers(after_all_blocks<false>)});

template <bool kAtomic>
__global__ void reset_while_counting(mem<int>* total) {
  atomicAdd(&total[0], 1);
  if (threadIdx.x == 0) {
    if constexpr (kAtomic) {
      atomicExch(&total[0], 0);
    } else {
      total[0] = 0;
    }
  }
}

const bool mixed_store = add_faulty({.name = "atomic_and_plain_store",
                                     .what = "a total that one thread sets to zero while others add to it atomically",
                                     .findings = {"read after write", "write after read", "write after write"},
                                     .buffer = "total",
                                     .launch = {{1}, {kThreads}},
                                     .buffers = {{"total", sizeof(int)}},
                                     .run = on_buffers(reset_while_counting<false>),
                                     .right = on_buffers(reset_while_counting<true>)});

}  // namespace
}  // namespace rung
