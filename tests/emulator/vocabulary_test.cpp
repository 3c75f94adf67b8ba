/// CUDA's vocabulary in the emulator, against what its documentation says. vocabulary_plain_test.cpp compiles the same
/// tests for the plain build.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <vector>

#include "gpu/simt/groups.hpp"
#include "gpu/simt/mma.hpp"
#include "tests/emulator/emulator_support.hpp"

#ifdef RUNG_PLAIN_EMULATION
#define VOCABULARY(part) PlainVocabulary##part
#else
#define VOCABULARY(part) Vocabulary##part
#endif

namespace rung {
namespace {

constexpr unsigned kAll = ~0u;

// ---- Barriers ----

__global__ void count_at_barriers(mem<int>* count, mem<int>* all, mem<int>* any, int below, int leave) {
  const int i = static_cast<int>(threadIdx.x);
  if (i >= static_cast<int>(blockDim.x) - leave) return;
  count[i] = __syncthreads_count(i < below ? 7 : 0);
  all[i] = __syncthreads_and(i < below);
  any[i] = __syncthreads_or(i < below);
}

TEST(VOCABULARY(Barriers), CountAndOrOverTheThreadsThatAreLeft) {
  constexpr int kThreads = 70;
  for (const int leave : {0, 1, 33})
    for (const int below : {0, 1, 37, kThreads}) {
      Array<int> count(kThreads), all(kThreads), any(kThreads);
      counted({{1}, {kThreads}}, {}, count_at_barriers, count.on_device(), all.on_device(), any.on_device(), below,
              leave);
      const int there = kThreads - leave;
      for (int i = 0; i < there; ++i) {
        EXPECT_EQ(count[i], std::min(below, there));
        EXPECT_EQ(all[i], below >= there);
        EXPECT_EQ(any[i], below > 0);
      }
    }
}

// ---- Shuffles ----

__global__ void shuffle_ints(mem<int>* up, mem<int>* down, mem<int>* flipped, mem<int>* told, unsigned argument,
                             int width) {
  const int i = static_cast<int>(threadIdx.x);
  up[i] = __shfl_up_sync(kAll, i, argument, width);
  down[i] = __shfl_down_sync(kAll, i, argument, width);
  flipped[i] = __shfl_xor_sync(kAll, i, static_cast<int>(argument), width);
  told[i] = __shfl_sync(kAll, i, static_cast<int>(argument), width);
}

TEST(VOCABULARY(Shuffles), EveryArgumentAndWidth) {
  for (const int width : {1, 2, 4, 8, 16, 32})
    for (int argument = 0; argument < 32; ++argument) {
      Array<int> up(64), down(64), flipped(64), told(64);
      counted({{1}, {64}}, {}, shuffle_ints, up.on_device(), down.on_device(), flipped.on_device(), told.on_device(),
              static_cast<unsigned>(argument), width);
      for (int i = 0; i < 64; ++i) {
        const int first = i / width * width, end = first + width;
        EXPECT_EQ(up[i], i - argument < first ? i : i - argument);
        EXPECT_EQ(down[i], i + argument >= end ? i : i + argument);
        EXPECT_EQ(flipped[i], (i ^ argument) >= end ? i : i ^ argument);
        EXPECT_EQ(told[i], first + argument % width);
      }
    }
}

template <typename T>
__global__ void reverse_warp(const mem<T>* from, mem<T>* to) {
  const reg<T> own = from[threadIdx.x];
  to[threadIdx.x] = __shfl_sync(kAll, own, 31 - static_cast<int>(threadIdx.x));
}

template <typename T>
void check_reverse(T step) {
  Array<T> from(32), to(32);
  for (int i = 0; i < 32; ++i) from[i] = static_cast<T>(i - 7) * step;
  counted(kOneWarp, {}, reverse_warp<T>, from.on_device(), to.on_device());
  for (int i = 0; i < 32; ++i) EXPECT_EQ(to[i], from[31 - i]);
}

TEST(VOCABULARY(Shuffles), OfEveryType) {
  check_reverse<int>(3);
  check_reverse<unsigned>(5);
  check_reverse<long long>((1LL << 40) + 1);
  check_reverse<unsigned long long>(~0ull / 9);
  check_reverse<float>(0.3f);
  check_reverse<double>(0.3);
}

__global__ void sum_with_shuffles(const mem<float>* from, mem<float>* to) {
  reg<float> sum = from[threadIdx.x];
  for (unsigned distance = 16; distance > 0; distance /= 2) sum += __shfl_down_sync(kAll, sum, distance);
  if (threadIdx.x == 0) *to = sum;
}

TEST(VOCABULARY(Shuffles), SumOfAWarp) {
  Array<float> from(32), to(1);
  std::iota(&from[0], &from[31] + 1, 1.0f);
  const Counts n = counted(kOneWarp, {}, sum_with_shuffles, from.on_device(), to.on_device());
  EXPECT_EQ(to[0], 528);
#ifndef RUNG_PLAIN_EMULATION
  EXPECT_EQ(n.fp32.adds, 5u * 32);
#endif
}

__global__ void shuffle_half(mem<int>* to, int lane, int width) {
  if (threadIdx.x < 16) to[threadIdx.x] = __shfl_sync(0xffffu, 1, lane, width);
}

TEST(VOCABULARY(Shuffles), LanesThatTakeNoPartAndBadWidthsAreTold) {
  Array<int> to(32);
  EXPECT_EQ(failure(kOneWarp, EmulatorOptions{}, shuffle_half, to.on_device(), 15, 32), "");
  const std::string absent = failure(kOneWarp, EmulatorOptions{}, shuffle_half, to.on_device(), 16, 32);
  EXPECT_TRUE(contains(absent, "divergent warp")) << absent;
  EXPECT_TRUE(contains(absent, "lane 16, which takes no part")) << absent;
  for (const int width : {0, -1, 3, 33, 64})
    EXPECT_TRUE(contains(failure(kOneWarp, EmulatorOptions{}, shuffle_half, to.on_device(), 0, width), "bad shuffle"))
        << width;
}

// ---- Matrix instructions ----

/// Four matrices, one below the other, whose element is its number.
__global__ void load_matrices(mem<unsigned>* plain, mem<unsigned>* transposed) {
  __shared__ mem<uint4> rows[32];
  const unsigned lane = threadIdx.x, first = 8 * lane;
  rows[lane] = make_uint4(first | (first + 1) << 16, (first + 2) | (first + 3) << 16, (first + 4) | (first + 5) << 16,
                          (first + 6) | (first + 7) << 16);
  __syncwarp();
  unsigned own[4];
  ldmatrix4(own, rows + lane);
  for (int i = 0; i < 4; ++i) plain[4 * lane + i] = own[i];
  ldmatrix4_transposed(own, rows + lane);
  for (int i = 0; i < 4; ++i) transposed[4 * lane + i] = own[i];
}

TEST(VOCABULARY(Matrices), EachLaneLoadsItsTwoElementsOfEach) {
  Array<unsigned> plain(128), transposed(128);
  const Counts n = counted(kOneWarp, {}, load_matrices, plain.on_device(), transposed.on_device());
  const auto element = [](unsigned matrix, unsigned row, unsigned col) { return 64 * matrix + 8 * row + col; };
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned i = 0; i < 4; ++i) {
      const unsigned row = lane / 4, col = lane % 4 * 2;
      EXPECT_EQ(plain[4 * lane + i], element(i, row, col) | element(i, row, col + 1) << 16);
      EXPECT_EQ(transposed[4 * lane + i], element(i, col, row) | element(i, col + 1, row) << 16);
    }
#ifndef RUNG_PLAIN_EMULATION
  EXPECT_EQ(n.shared_load_requests, 2u);
  EXPECT_EQ(n.shared_load_wavefronts, 8u) << "a wavefront for each matrix";
  EXPECT_EQ(n.shuffles, 0u);
#endif
}

/// D = C + A B for matrices in global memory, with the fragments as the PTX ISA has them.
template <Type kType>
__global__ void multiply(const mem<Bf16>* a, const mem<Bf16>* b, const mem<float>* c, mem<float>* d, int lanes) {
  const int lane = threadIdx.x, group = lane / 4, pair = lane % 4 * 2;
  if (lane >= lanes) return;
  const auto two = [](unsigned low, unsigned high) { return low | high << 16; };
  unsigned left[4], right[2];
  for (int i = 0; i < 4; ++i) {
    const int at = (group + i % 2 * 8) * 16 + pair + i / 2 * 8;
    left[i] = two(a[at], a[at + 1]);
  }
  for (int i = 0; i < 2; ++i) {
    const int row = pair + 8 * i;
    right[i] = two(b[row * 8 + group], b[(row + 1) * 8 + group]);
  }
  reg<float> sum[4];
  for (int i = 0; i < 4; ++i) sum[i] = c[(group + i / 2 * 8) * 8 + pair + i % 2];
  mma<kType>(sum, left, right);
  for (int i = 0; i < 4; ++i) d[(group + i / 2 * 8) * 8 + pair + i % 2] = sum[i];
}

template <Type kType>
void check_multiply(Bf16 (*narrow)(float)) {
  Array<Bf16> a(256), b(128);
  Array<float> c(128), d(128);
  for (int i = 0; i < 256; ++i) a[i] = narrow(static_cast<float>(i * 7 % 17 - 8));
  for (int i = 0; i < 128; ++i) b[i] = narrow(static_cast<float>(i * 5 % 13 - 6));
  for (int i = 0; i < 128; ++i) c[i] = static_cast<float>(i) - 40;
  const Counts n =
      counted(kOneWarp, {}, multiply<kType>, a.on_device(), b.on_device(), c.on_device(), d.on_device(), 32);
  for (int row = 0; row < 16; ++row)
    for (int col = 0; col < 8; ++col) {
      int want = row * 8 + col - 40;
      for (int k = 0; k < 16; ++k) want += ((row * 16 + k) * 7 % 17 - 8) * ((k * 8 + col) * 5 % 13 - 6);
      EXPECT_EQ(d[row * 8 + col], static_cast<float>(want)) << row << ", " << col;
    }
#ifndef RUNG_PLAIN_EMULATION
  EXPECT_EQ(n.tensor.fmas, 16u * 8 * 16);
  EXPECT_EQ(n.fp32.flops(), 0u);
#endif
}

TEST(VOCABULARY(Matrices), AreMultipliedInBothFormats) {
  check_multiply<Type::bf16>(to_bf16);
  check_multiply<Type::fp16>(to_fp16);
}

TEST(VOCABULARY(Matrices), SumsAreTruncated) {
  Array<Bf16> a(256), b(128);
  Array<float> c(128), d(128);
  a[0] = to_bf16(0x1p-13f);
  b[0] = to_bf16(-0x1p-13f);
  b[1] = to_bf16(0x1p-13f);
  c[0] = c[1] = 1;
  counted(kOneWarp, {}, multiply<Type::bf16>, a.on_device(), b.on_device(), c.on_device(), d.on_device(), 32);
  EXPECT_EQ(d[0], 1 - 0x1p-24f) << "the nearest float32 of 1 - 2^-26 is 1";
  EXPECT_EQ(d[1], 1);
}

TEST(VOCABULARY(Matrices), NeedTheWholeWarp) {
  Array<Bf16> a(256), b(128);
  Array<float> c(128), d(128);
  EXPECT_THROW(
      counted(kOneWarp, {}, multiply<Type::bf16>, a.on_device(), b.on_device(), c.on_device(), d.on_device(), 16),
      Error);
}

// ---- Votes, matches, reductions ----

__global__ void vote(mem<unsigned>* ballot, mem<int>* all, mem<int>* any, mem<unsigned>* active, int below) {
  const int i = static_cast<int>(threadIdx.x);
  const unsigned mask = i < 32 ? kAll : 0xffu;
  ballot[i] = __ballot_sync(mask, i < below ? 2 : 0);
  all[i] = __all_sync(mask, i < below);
  any[i] = __any_sync(mask, i < below);
  active[i] = 0;
  if (i % 3 == 0) active[i] = __activemask();
}

TEST(VOCABULARY(Votes), OfAWholeAndOfAPartialWarp) {
  for (const int below : {0, 1, 31, 32, 35, 40}) {
    Array<unsigned> ballot(40), active(40);
    Array<int> all(40), any(40);
    counted({{1}, {40}}, {}, vote, ballot.on_device(), all.on_device(), any.on_device(), active.on_device(), below);
    for (int i = 0; i < 40; ++i) {
      const int first = i / 32 * 32, lanes = i < 32 ? 32 : 8;
      const int set = std::clamp(below - first, 0, lanes);
      EXPECT_EQ(ballot[i], static_cast<unsigned>((std::uint64_t{1} << set) - 1));
      EXPECT_EQ(all[i], set == lanes);
      EXPECT_EQ(any[i], set > 0);
      unsigned thirds = 0;
      for (int j = 0; j < lanes; ++j) thirds |= static_cast<unsigned>((first + j) % 3 == 0) << j;
      EXPECT_EQ(active[i], i % 3 == 0 ? thirds : 0);
    }
  }
}

__global__ void match(mem<unsigned>* any, mem<unsigned>* all, mem<int>* same, int kinds) {
  const int i = static_cast<int>(threadIdx.x);
  any[i] = __match_any_sync(kAll, i % kinds);
  int predicate = 5;
  all[i] = __match_all_sync(kAll, static_cast<double>(i % kinds), &predicate);
  same[i] = predicate;
}

TEST(VOCABULARY(Votes), Matches) {
  for (const int kinds : {1, 2, 5, 32}) {
    Array<unsigned> any(32), all(32);
    Array<int> same(32);
    counted(kOneWarp, {}, match, any.on_device(), all.on_device(), same.on_device(), kinds);
    for (int i = 0; i < 32; ++i) {
      unsigned lanes = 0;
      for (int j = i % kinds; j < 32; j += kinds) lanes |= 1u << j;
      EXPECT_EQ(any[i], lanes);
      EXPECT_EQ(all[i], kinds == 1 ? kAll : 0);
      EXPECT_EQ(same[i], kinds == 1);
    }
  }
}

__global__ void reduce(const mem<int>* from, mem<int>* results) {
  const int x = from[threadIdx.x];
  const unsigned bits = static_cast<unsigned>(x);
  const int sum = __reduce_add_sync(kAll, x), least = __reduce_min_sync(kAll, x), most = __reduce_max_sync(kAll, x);
  const unsigned highest = __reduce_max_sync(kAll, bits), lowest = __reduce_min_sync(kAll, bits);
  const unsigned both = __reduce_and_sync(kAll, bits | 6), either = __reduce_or_sync(kAll, bits & 12);
  const unsigned odd = __reduce_xor_sync(kAll, bits);
  if (threadIdx.x != 9) return;
  const int values[] = {sum,
                        least,
                        most,
                        static_cast<int>(highest),
                        static_cast<int>(lowest),
                        static_cast<int>(both),
                        static_cast<int>(either),
                        static_cast<int>(odd)};
  for (int i = 0; i < 8; ++i) results[i] = values[i];
}

TEST(VOCABULARY(Votes), Reductions) {
  Array<int> from(32), results(8);
  for (int i = 0; i < 32; ++i) from[i] = i * 37 % 41 - 20;
  counted(kOneWarp, {}, reduce, from.on_device(), results.on_device());
  int sum = 0, least = from[0], most = from[0], odd = 0, both = -1, either = 0;
  unsigned highest = 0, lowest = kAll;
  for (int i = 0; i < 32; ++i) {
    sum += from[i];
    least = std::min(least, from[i]);
    most = std::max(most, from[i]);
    highest = std::max(highest, static_cast<unsigned>(from[i]));
    lowest = std::min(lowest, static_cast<unsigned>(from[i]));
    both &= from[i] | 6;
    either |= from[i] & 12;
    odd ^= from[i];
  }
  const int expected[] = {sum, least, most, static_cast<int>(highest), static_cast<int>(lowest), both, either, odd};
  for (int i = 0; i < 8; ++i) EXPECT_EQ(results[i], expected[i]) << i;
}

// ---- Atomic functions ----

template <typename T, typename Function>
T after(T element, Function function) {
  struct Shared {
    static __global__ void apply(mem<T>* in_global, mem<T>* old, Function call) {
      __shared__ mem<T> in_shared[1];
      in_shared[0] = static_cast<T>(in_global[0]);
      old[0] = call(&in_shared[0]);
      old[1] = call(in_global);
      old[2] = static_cast<T>(in_shared[0]);
    }
  };
  Array<T> global(1), old(3);
  global[0] = element;
  counted({{1}, {1}}, {}, Shared::apply, global.on_device(), old.on_device(), function);
  EXPECT_EQ(old[0], element);
  EXPECT_EQ(old[1], element);
  EXPECT_EQ(old[2], global[0]);
  return global[0];
}

template <typename T>
void check_atomic_integers() {
  constexpr T low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
  const auto min = [](mem<T>* x) { return atomicMin(x, T{5}); };
  const auto max = [](mem<T>* x) { return atomicMax(x, T{5}); };
  EXPECT_EQ(after<T>(high, min), 5);
  EXPECT_EQ(after<T>(low, min), low);
  EXPECT_EQ(after<T>(low, max), 5);
  EXPECT_EQ(after<T>(high, max), high);
  if constexpr (!std::is_same_v<T, long long>) {
    EXPECT_EQ(after<T>(high, [](mem<T>* x) { return atomicAdd(x, 1); }), low);  // wraps around
    EXPECT_EQ(after<T>(9, [](mem<T>* x) { return atomicExch(x, 4); }), 4);
    EXPECT_EQ(after<T>(9, [](mem<T>* x) { return atomicAnd(x, 12); }), 8);
    EXPECT_EQ(after<T>(9, [](mem<T>* x) { return atomicOr(x, 12); }), 13);
    EXPECT_EQ(after<T>(9, [](mem<T>* x) { return atomicXor(x, 12); }), 5);
    EXPECT_EQ(after<T>(9, [](mem<T>* x) { return atomicCAS(x, 9, 3); }), 3);
    EXPECT_EQ(after<T>(9, [](mem<T>* x) { return atomicCAS(x, 8, 3); }), 9);
  }
}

TEST(VOCABULARY(Atomics), EachFunction) {
  check_atomic_integers<int>();
  check_atomic_integers<unsigned>();
  check_atomic_integers<unsigned long long>();
  check_atomic_integers<long long>();
  EXPECT_EQ(after<int>(3, [](mem<int>* x) { return atomicSub(x, 5); }), -2);
  EXPECT_EQ(after<unsigned>(3, [](mem<unsigned>* x) { return atomicSub(x, 5); }), kAll - 1);
  EXPECT_EQ(after<float>(1.5f, [](mem<float>* x) { return atomicAdd(x, 2); }), 3.5f);
  EXPECT_EQ(after<double>(1.5, [](mem<double>* x) { return atomicAdd(x, 2); }), 3.5);
  EXPECT_EQ(after<float>(1.5f, [](mem<float>* x) { return atomicExch(x, -2); }), -2.0f);
  for (const unsigned x : {0u, 1u, 6u, 7u, 8u, kAll}) {
    EXPECT_EQ(after<unsigned>(x, [](mem<unsigned>* e) { return atomicInc(e, 7); }), x >= 7 ? 0 : x + 1);
    EXPECT_EQ(after<unsigned>(x, [](mem<unsigned>* e) { return atomicDec(e, 7); }), x == 0 || x > 7 ? 7 : x - 1);
  }
}

__global__ void histogram(const mem<int>* values, mem<int>* bins, mem<float>* total, int n) {
  __shared__ mem<int> own[10];
  const int i = static_cast<int>(threadIdx.x);
  if (i < 10) own[i] = 0;
  __syncthreads();
  for (int j = static_cast<int>(blockIdx.x * blockDim.x) + i; j < n; j += static_cast<int>(gridDim.x * blockDim.x)) {
    atomicAdd(&own[values[j]], 1);
    atomicAdd(total, 0.5f);
  }
  __syncthreads();
  if (i < 10) atomicAdd(&bins[i], own[i]);
}

TEST(VOCABULARY(Atomics), FromManyBlocks) {
  for (const int n : {0, 1, 1000, 4097}) {
    Array<int> values(n + 1), bins(10);
    Array<float> total(1);
    std::vector<int> expected(10);
    for (int i = 0; i < n; ++i) ++expected[values[i] = i * i % 10];
    const Counts counts =
        counted({{7}, {96}}, {}, histogram, values.on_device(), bins.on_device(), total.on_device(), n);
    for (int i = 0; i < 10; ++i) EXPECT_EQ(bins[i], expected[i]);
    EXPECT_EQ(total[0], 0.5f * static_cast<float>(n));
    EXPECT_EQ(counts.fp32.adds, 0u);  // atomic units add, not the threads
  }
}

__global__ void under_lock(mem<int>* lock, mem<int>* value, mem<int>* flag) {
  for (bool done = false; !done;)
    if (atomicCAS(lock, 0, 1) == 0) {
      value[0] = value[0] + 1;
      __threadfence();
      atomicExch(lock, 0);
      done = true;
    }
  if (threadIdx.x == 0)
    while (atomicAdd(flag, 0) == 0) {  // until the last thread has come
    }
  if (threadIdx.x == blockDim.x - 1) atomicExch(flag, 1);
}

TEST(VOCABULARY(Atomics), WhoWaitsForAnotherThreadLetsItRun) {
  Array<int> lock(1), value(1), flag(1);
  counted({{1}, {96}}, {}, under_lock, lock.on_device(), value.on_device(), flag.on_device());
  EXPECT_EQ(value[0], 96);
  EXPECT_EQ(flag[0], 1);
}

// ---- Vectors ----

__global__ void scale(const mem<float>* from, mem<float>* to, int vectors) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= vectors) return;
  const float4 v = vector_cast<float4>(from)[i];
  const float4 w = __ldg(vector_cast<float4>(from) + i);
  float4 sum = make_float4(v.x + w.x, v.y + w.y, v.z * w.z, v.w);
  sum.w *= 2.0f;
  vector_cast<float4>(to)[i] = sum;
}

TEST(VOCABULARY(Vectors), AreMovedWholeAndCountByMember) {
  for (const int n : {1, 31, 40}) {
    Array<float> from(4 * n), to(4 * n);
    for (int i = 0; i < 4 * n; ++i) from[i] = static_cast<float>(i);
    const Counts counts = counted({{2}, {32}}, {}, scale, from.on_device(), to.on_device(), n);
    for (int i = 0; i < 4 * n; ++i) EXPECT_EQ(to[i], i % 4 == 2 ? from[i] * from[i] : 2 * from[i]);
#ifndef RUNG_PLAIN_EMULATION
    EXPECT_EQ(counts.fp32.adds, 3u * n);  // times 2 is an addition
    EXPECT_EQ(counts.fp32.muls, 1u * n);
    EXPECT_EQ(counts.bytes_loaded, 32u * n);
    EXPECT_EQ(counts.bytes_stored, 16u * n);
    EXPECT_EQ(counts.load_requests, 2u * blocks_for(n, 32));
#endif
  }
}

template <typename Vector>
__global__ void copy_vectors(const mem<Vector>* from, mem<Vector>* to) {
  __shared__ mem<Vector> tile[32];
  tile[threadIdx.x] = from[threadIdx.x];
  __syncthreads();
  const Vector v = tile[31 - threadIdx.x];
  __stcs(to + threadIdx.x, v);
}

template <typename Vector>
void check_vectors() {
  Array<Vector> from(32), to(32);
  for (int i = 0; i < 32; ++i) std::memset(static_cast<void*>(&from[i]), i + 1, sizeof(Vector));
  const Counts n = counted(kOneWarp, {}, copy_vectors<Vector>, from.on_device(), to.on_device());
  for (int i = 0; i < 32; ++i) EXPECT_EQ(std::memcmp(&to[i], &from[31 - i], sizeof(Vector)), 0);
#ifndef RUNG_PLAIN_EMULATION
  EXPECT_EQ(n.bytes_loaded, 32 * sizeof(Vector));
#endif
}

TEST(VOCABULARY(Vectors), OfEverySize) {
  check_vectors<char2>();
  check_vectors<char4>();
  check_vectors<uchar4>();
  check_vectors<short4>();
  check_vectors<int2>();
  check_vectors<int4>();
  check_vectors<uint2>();
  check_vectors<uint4>();
  check_vectors<float2>();
  check_vectors<float4>();
  check_vectors<double2>();
  check_vectors<longlong2>();
  static_assert(sizeof(float3) == 12 && alignof(float3) == 4 && alignof(double2) == 16 && alignof(char2) == 2);
}

// ---- Functions ----

template <typename T>
__global__ void functions(const mem<T>* in, mem<T>* out) {
  const reg<T> x = in[0], y = in[1];
  int i = 0;
  for (const reg<T>& result :
       {reg<T>(sqrt(x)), reg<T>(exp(x)), reg<T>(log(x)), reg<T>(log2(x)), reg<T>(exp2(x)), reg<T>(sin(x)),
        reg<T>(cos(x)), reg<T>(tanh(x)), reg<T>(pow(x, y)), reg<T>(rsqrt(x)), reg<T>(fabs(-x)), reg<T>(fmin(x, y)),
        reg<T>(max(x, y)), reg<T>(floor(x)), reg<T>(ceil(x)), reg<T>(fma(x, y, x)), reg<T>(abs(-x)), reg<T>(rcbrt(x))})
    out[i++] = result;
}

template <typename T>
void check_functions() {
  Array<T> in(2), out(18);
  const T x = in[0] = static_cast<T>(1.7), y = in[1] = static_cast<T>(0.3);
  const Counts n = counted({{1}, {1}}, {}, functions<T>, in.on_device(), out.on_device());
  const T expected[] = {std::sqrt(x),
                        std::exp(x),
                        std::log(x),
                        std::log2(x),
                        std::exp2(x),
                        std::sin(x),
                        std::cos(x),
                        std::tanh(x),
                        std::pow(x, y),
                        1 / std::sqrt(x),
                        x,
                        y,
                        x,
                        1,
                        2,
                        std::fma(x, y, x),
                        x,
                        1 / std::cbrt(x)};
  for (int i = 0; i < 18; ++i)
    EXPECT_NEAR(out[i], expected[i], 2 * std::numeric_limits<T>::epsilon() * std::abs(expected[i])) << i;
#ifndef RUNG_PLAIN_EMULATION
  const Operations& done = sizeof(T) == 4 ? n.fp32 : n.fp64;
  EXPECT_EQ(done.specials, 11u);
  EXPECT_EQ(done.fmas, 1u);
  EXPECT_EQ(done.flops(), 2u);
#endif
}

TEST(VOCABULARY(Functions), InBothPrecisions) {
  check_functions<float>();
  check_functions<double>();
  static_assert(std::is_same_v<decltype(sqrt(1.0f)), float> && std::is_same_v<decltype(sqrt(1)), double>);
  static_assert(std::is_same_v<decltype(max(1, 2u)), unsigned> && std::is_same_v<decltype(abs(-3)), int>);
  EXPECT_EQ(min(-3, 2), -3);
  EXPECT_EQ(fmaxf(std::nanf(""), 2.0f), 2.0f);
  EXPECT_EQ(max(std::nanf(""), 2.0f), 2.0f);
  EXPECT_TRUE(isnan(sqrt(-1.0f)));
  EXPECT_EQ(sinpif(1.0f), sinpif(-3.0f) * -1 + sinpif(1.0f) + sinpif(-3.0f));
  EXPECT_EQ(cospi(3.0), -1.0);
}

/// The largest error over its bound, over many arguments; both in absolute terms, the error from the exact result in
/// float, as CUDA's documentation has it.
double worst(double from, double to, const std::function<float(float)>& modelled,
             const std::function<double(double)>& exact, const std::function<double(double, double)>& bound) {
  double ratio = 0;
  constexpr int kSteps = 200'000;
  for (int i = 0; i <= kSteps; ++i) {
    const auto x = static_cast<float>(from + (to - from) * i / kSteps);
    const double right = static_cast<float>(exact(x)), error = std::abs(modelled(x) - right);
    EXPECT_FALSE(std::isnan(error)) << x;
    ratio = std::max(ratio, error / bound(x, right));
  }
  return ratio;
}

/// The distance of floats at this magnitude.
double ulp(double value) { return std::ldexp(1.0, std::max(std::ilogb(value), -126) - 23); }

#define EXPECT_WITHIN_BOUND(ratio)           \
  {                                          \
    const double of_bound = ratio;           \
    EXPECT_LE(of_bound, 1.0);                \
    EXPECT_GE(of_bound, 0.1) << "too exact"; \
  }

TEST(VOCABULARY(Intrinsics), ErrorsAreThereAndWithinTheDocumentedBounds) {
  const auto ulps = [](double n) { return [n](double, double right) { return n * ulp(right); }; };
  const auto absolute = [](double bound) { return [bound](double, double) { return bound; }; };
  const double pi = std::acos(-1.0);
  const auto exp_bound = [](double x, double y) { return (2 + std::floor(std::abs(1.173 * x))) * ulp(y); };
  const auto exp10_bound = [](double x, double y) { return (2 + std::floor(std::abs(2.97 * x))) * ulp(y); };
  const auto exp = [](float x) { return __expf(x); };
  const auto exp10 = [](float x) { return __exp10f(x); };
  const auto std_exp = [](double x) { return std::exp(x); };
  const auto std_exp10 = [](double x) { return std::pow(10.0, x); };
  EXPECT_WITHIN_BOUND(worst(-1, 1, exp, std_exp, exp_bound));
  EXPECT_WITHIN_BOUND(worst(-87, 88, exp, std_exp, exp_bound));
  EXPECT_WITHIN_BOUND(worst(-1, 1, exp10, std_exp10, exp10_bound));
  EXPECT_WITHIN_BOUND(worst(-37, 38, exp10, std_exp10, exp10_bound));
  const auto log = [](float x) { return __logf(x); };
  const auto log2 = [](float x) { return __log2f(x); };
  const auto log10 = [](float x) { return __log10f(x); };
  const auto std_log = [](double x) { return std::log(x); };
  const auto std_log2 = [](double x) { return std::log2(x); };
  const auto std_log10 = [](double x) { return std::log10(x); };
  EXPECT_WITHIN_BOUND(worst(0.5, 2, log, std_log, absolute(std::exp2(-21.41))));
  EXPECT_WITHIN_BOUND(worst(0.5, 2, log2, std_log2, absolute(std::exp2(-22))));
  EXPECT_WITHIN_BOUND(worst(0.5, 2, log10, std_log10, absolute(std::exp2(-24))));
  for (const auto& [from, to] : {std::pair{2.001, 50.0}, {1e-5, 0.499}, {1e-30, 1e-29}, {100.0, 1e30}}) {
    EXPECT_WITHIN_BOUND(worst(from, to, log, std_log, ulps(3)));
    EXPECT_WITHIN_BOUND(worst(from, to, log2, std_log2, ulps(2)));
    EXPECT_WITHIN_BOUND(worst(from, to, log10, std_log10, ulps(3)));
  }
  const auto sin = [](float x) { return __sinf(x); };
  const auto cos = [](float x) { return __cosf(x); };
  const auto std_sin = [](double x) { return std::sin(x); };
  const auto std_cos = [](double x) { return std::cos(x); };
  EXPECT_WITHIN_BOUND(worst(-pi, pi, sin, std_sin, absolute(std::exp2(-21.41))));
  EXPECT_WITHIN_BOUND(worst(-pi, pi, cos, std_cos, absolute(std::exp2(-21.19))));
  EXPECT_GT(worst(9000, 10000, sin, std_sin, absolute(std::exp2(-21.41))), 100.0);  // the reduction in float
  for (const float dividend : {3.3f, -1.9999999f})
    EXPECT_WITHIN_BOUND(worst(
        1e-6, 1000, [=](float x) { return __fdividef(dividend, x); }, [=](double x) { return dividend / x; }, ulps(2)));
  const auto tan_bound = [](double x, double y) {
    return (std::exp2(-21.19) / std::abs(std::cos(x))) * (2 + std::abs(y));
  };
  EXPECT_LE(worst(
                -1.5, 1.5, [](float x) { return __tanf(x); }, [](double x) { return std::tan(x); }, tan_bound),
            1.0);
}

TEST(VOCABULARY(Intrinsics), PowersAndQuotientsAtTheEnds) {
  for (const float x : {0.3f, 1.7f, 12.5f})
    for (const float y : {-3.1f, 0.0f, 0.7f, 9.0f}) {
      const double exact = std::pow(static_cast<double>(x), static_cast<double>(y));
      // The exponent has its own rounding and y times the error of the logarithm.
      const double exponent = y * std::log2(x);
      const double bound = (4 + std::abs(exponent) + std::abs(y)) * ulp(exact);
      EXPECT_NEAR(__powf(x, y), exact, bound) << x << "^" << y;
    }
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(__fdividef(1.0f, 0x1p126f), 0x1p-126f);
  EXPECT_EQ(__fdividef(3e38f, 0x1.8p126f), 0.0f);
  EXPECT_EQ(__fdividef(-3e38f, 3e38f), 0.0f);
  EXPECT_TRUE(std::isnan(__fdividef(infinity, 0x1.8p126f)));
  EXPECT_EQ(__fdividef(1.0f, 0.0f), infinity);
  EXPECT_EQ(__expf(0.0f), 1.0f);
  EXPECT_EQ(__expf(-infinity), 0.0f);
  EXPECT_EQ(__expf(1000.0f), infinity);
  EXPECT_EQ(__log2f(8.0f), 3.0f);
  EXPECT_EQ(__logf(0.0f), -infinity);
  EXPECT_TRUE(std::isnan(__logf(-1.0f)));
  EXPECT_TRUE(std::isnan(__powf(-2.0f, 3.0f)));  // as on the hardware: the logarithm of -2
  EXPECT_EQ(__saturatef(-1.0f), 0.0f);
  EXPECT_EQ(__saturatef(7.0f), 1.0f);
  EXPECT_EQ(__saturatef(std::nanf("")), 0.0f);
  EXPECT_EQ(__frcp_rn(3.0f), 1.0f / 3.0f);
  EXPECT_EQ(__fsqrt_rn(2.0f), std::sqrt(2.0f));
  EXPECT_EQ(__fmaf_rn(3.0f, 0x1.000002p0f, -3.0f), std::fma(3.0f, 0x1.000002p0f, -3.0f));
}

__global__ void unfused(const mem<float>* in, mem<float>* out) {
  const reg<float> a = in[0], b = in[1];
  out[0] = __fadd_rn(__fmul_rn(a, b), a);
  out[1] = __fmaf_rn(a, b, a);
  out[2] = __expf(a);
  out[3] = __int_as_float(__float_as_int(a));
}

TEST(VOCABULARY(Intrinsics), RoundedOnesAreNeverFused) {
  Array<float> in(2), out(4);
  in[0] = 1.1f;
  in[1] = 1.3f;
  const Counts n = counted({{1}, {1}}, {}, unfused, in.on_device(), out.on_device());
  const float product = in[0] * in[1];
  EXPECT_EQ(out[0], product + in[0]);
  EXPECT_EQ(out[1], std::fma(in[0], in[1], in[0]));
  EXPECT_EQ(out[3], in[0]);
#ifndef RUNG_PLAIN_EMULATION
  EXPECT_EQ(n.fp32.muls, 2u);  // one of them in __expf
  EXPECT_EQ(n.fp32.adds, 1u);
  EXPECT_EQ(n.fp32.fmas, 1u);
  EXPECT_EQ(n.fp32.specials, 1u);
#endif
}

TEST(VOCABULARY(Intrinsics), OfIntegersAgainstBitByBit) {
  for (int step = 0; step < 300; ++step) {
    const auto x = step < 3 ? static_cast<unsigned>(step - 1) : static_cast<unsigned>(random_bits(3, step));
    const auto y = static_cast<unsigned>(random_bits(4, step));
    int ones = 0, leading = 32, lowest = 0;
    unsigned reversed = 0;
    for (int bit = 0; bit < 32; ++bit)
      if (x >> bit & 1) {
        ++ones;
        leading = 31 - bit;
        if (lowest == 0) lowest = bit + 1;
        reversed |= 1u << (31 - bit);
      }
    EXPECT_EQ(__popc(x), ones);
    EXPECT_EQ(__popcll(std::uint64_t{x} << 32 | x), 2 * ones);
    EXPECT_EQ(__clz(static_cast<int>(x)), leading);
    EXPECT_EQ(__clzll(x), 32 + leading);
    EXPECT_EQ(__ffs(static_cast<int>(x)), lowest);
    EXPECT_EQ(__brev(x), reversed);
    EXPECT_EQ(__umulhi(x, y), static_cast<unsigned>(std::uint64_t{x} * y / 0x100000000));
    EXPECT_EQ(__umul24(x, y), (x % (1 << 24)) * (y % (1 << 24)));
    for (unsigned shift = 0; shift < 70; shift += 3) {
      const std::uint64_t both = std::uint64_t{y} << 32 | x;
      EXPECT_EQ(__funnelshift_l(x, y, shift), static_cast<unsigned>(both << shift % 32 >> 32));
      EXPECT_EQ(__funnelshift_r(x, y, shift), static_cast<unsigned>(both >> shift % 32));
      EXPECT_EQ(__funnelshift_lc(x, y, shift), static_cast<unsigned>(shift >= 32 ? x : both << shift >> 32));
      EXPECT_EQ(__funnelshift_rc(x, y, shift), static_cast<unsigned>(shift >= 32 ? y : both >> shift));
    }
  }
  EXPECT_EQ(__mul24(-3, 5), -15);
  EXPECT_EQ(__mul24(0x1000002, 3), 6);
  EXPECT_EQ(__mulhi(-2, 3), -1);
  EXPECT_EQ(__mul64hi(-2, 3), -1);
  EXPECT_EQ(__umul64hi(~0ull, 2), 1u);
  EXPECT_EQ(__byte_perm(0x33221100, 0x77665544, 0x7401), 0x77440011u);
  EXPECT_EQ(__usad(3, 10, 5), 12u);
  EXPECT_EQ(__sad(-3, 4, 5), 12u);
  EXPECT_EQ(__hadd(-3, 4), 0);
  EXPECT_EQ(__rhadd(-3, 4), 1);
  EXPECT_EQ(__float2int_rn(2.5f), 2);
  EXPECT_EQ(__float2int_rz(-2.7f), -2);
  EXPECT_EQ(__float2int_ru(2.1f), 3);
  EXPECT_EQ(__float2int_rd(-2.1f), -3);
  EXPECT_EQ(__float2int_rz(1e20f), std::numeric_limits<int>::max());
  EXPECT_EQ(__float2uint_rz(-5.0f), 0u);
  EXPECT_EQ(__float2int_rn(std::nanf("")), 0);
}

// ---- Asynchronous copies ----

__global__ void copy_in_two_stages(const mem<float>* from, mem<float>* to, int tiles) {
  __shared__ __align__(16) mem<float> tile[2][64];
  const int i = static_cast<int>(threadIdx.x) * 4;
  const auto fetch = [&](int t) {
    if (t < tiles) __pipeline_memcpy_async(&tile[t % 2][i], from + t * 64 + i, 16);
    __pipeline_commit();
  };
  fetch(0);
  for (int t = 0; t < tiles; ++t) {
    fetch(t + 1);
    __pipeline_wait_prior(1);
    __syncthreads();
    for (int j = 0; j < 4; ++j) to[t * 64 + i + j] = tile[t % 2][63 - i - j];
    __syncthreads();
  }
}

TEST(VOCABULARY(Copies), InTwoStages) {
  for (const int tiles : {1, 2, 5}) {
    Array<float> from(64 * tiles), to(64 * tiles);
    std::iota(&from[0], &from[0] + 64 * tiles, 1.0f);
    const Counts n = counted({{1}, {16}}, {}, copy_in_two_stages, from.on_device(), to.on_device(), tiles);
    for (int i = 0; i < 64 * tiles; ++i) EXPECT_EQ(to[i], from[i / 64 * 64 + 63 - i % 64]);
#ifndef RUNG_PLAIN_EMULATION
    EXPECT_EQ(n.bytes_loaded, 256u * tiles);
    EXPECT_EQ(n.async_requests, 1u * tiles);
#endif
  }
}

__global__ void copy_some(const mem<int>* from, mem<int>* to, int n, std::size_t bytes) {
  __shared__ mem<int> tile[64];
  const int i = static_cast<int>(threadIdx.x);
  tile[i] = -1;
  __pipeline_memcpy_async(&tile[i], from + i, bytes, i < n ? 0 : bytes);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  to[i] = tile[i];
}

TEST(VOCABULARY(Copies), ZerosInPlaceOfWhatIsNotThere) {
  for (const int n : {0, 1, 20, 32}) {
    Array<int> from(32), to(32);
    std::fill_n(&from[0], 32, 7);
    counted(kOneWarp, {}, copy_some, from.on_device(), to.on_device(), n, 4);
    for (int i = 0; i < 32; ++i) EXPECT_EQ(to[i], i < n ? 7 : 0);
  }
  Array<int> from(32), to(32);
  for (const std::size_t bytes : {0, 1, 3, 12, 32})
    EXPECT_TRUE(contains(failure(kOneWarp, EmulatorOptions{}, copy_some, from.on_device(), to.on_device(), 32, bytes),
                         "asynchronous"))
        << bytes;
}

__global__ void copy_quads(const mem<float>* from, mem<float>* to, int offset) {
  __shared__ __align__(16) mem<float> tile[128];
  const int i = static_cast<int>(threadIdx.x) * 4;
  __pipeline_memcpy_async(&tile[i], from + offset + i, 16);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  for (int j = 0; j < 4; ++j) to[i + j] = tile[i + j];
}

__global__ void copy_words(const mem<float>* from, mem<float>* to, int offset) {
  __shared__ mem<float> tile[32];
  const int i = static_cast<int>(threadIdx.x);
  __pipeline_memcpy_async(&tile[i], from + offset + i, 4);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  to[i] = tile[i];
}

/// Off a sector's beginning, each part of 128 bytes touches one sector more, which it has in common with the next part.
TEST(VOCABULARY(Copies), SectorsAreThoseOfEachPartOf128Bytes) {
  Array<float> from(160), to(128);
  std::iota(&from[0], &from[0] + 160, 1.0f);
  for (const int offset : {0, 4}) {
    const Counts quads = counted(kOneWarp, {}, copy_quads, from.on_device(), to.on_device(), offset);
    for (int i = 0; i < 128; ++i) EXPECT_EQ(to[i], from[offset + i]);
    const Counts words = counted(kOneWarp, {}, copy_words, from.on_device(), to.on_device(), offset);
#ifndef RUNG_PLAIN_EMULATION
    EXPECT_EQ(quads.async_sectors, offset == 0 ? 16u : 20u);
    EXPECT_EQ(words.async_sectors, offset == 0 ? 4u : 5u);
#endif
  }
}

// ---- Constant and dynamic shared memory, assertions, time ----

__constant__ mem<float> coefficients[3];

__global__ void polynomial(const mem<float>* x, mem<float>* y) {
  mem<float>* own = dynamic_shared<mem<float>>();
  own[threadIdx.x] = x[threadIdx.x];
  reg<float> sum = 0;
  for (int i = 2; i >= 0; --i) sum = sum * own[threadIdx.x] + coefficients[i];
  y[threadIdx.x] = sum;
}

TEST(VOCABULARY(Memory), ConstantsAreSetBeforeALaunch) {
  Array<float> x(32), y(32);
  for (int i = 0; i < 32; ++i) x[i] = static_cast<float>(i);
  for (const float first : {1.0f, -4.0f}) {
    const float values[] = {first, 2, 3};
    set_constant({}, coefficients, values, sizeof(values));
    counted({{1}, {32}, 128}, {}, polynomial, x.on_device(), y.on_device());
    for (int i = 0; i < 32; ++i) EXPECT_EQ(y[i], static_cast<float>(3 * i * i + 2 * i) + first);
  }
  const float many[4] = {};
  EXPECT_THROW(set_constant({}, coefficients, many, sizeof(many)), Error);
}

#ifndef NDEBUG
__global__ void assert_below(int limit) { assert(static_cast<int>(threadIdx.x) < limit); }

__global__ void elements_or_zero(const mem<float>* from, const volatile mem<float>* shown, mem<float>* to, int n) {
  const int i = threadIdx.x;
  to[i] = i < n ? from[i] : 0;
  to[32 + i] = i < n ? shown[i] : 0;
}

TEST(VOCABULARY(Memory), AnElementBesideAWholeNumberKeepsItsFraction) {
  Array<float> from(32), to(64);
  for (int i = 0; i < 32; ++i) from[i] = static_cast<float>(i) + 0.5f;
  counted(kOneWarp, {}, elements_or_zero, from.on_device(), from.on_device(), to.on_device(), 20);
  for (int i = 0; i < 64; ++i) EXPECT_EQ(to[i], i % 32 < 20 ? static_cast<float>(i % 32) + 0.5f : 0);
}

TEST(VOCABULARY(Memory), AFailedAssertionEndsTheKernelOnly) {
  EXPECT_EQ(failure(kOneWarp, EmulatorOptions{}, assert_below, 32), "");
  const std::string text = failure(kOneWarp, EmulatorOptions{}, assert_below, 31);
  EXPECT_TRUE(contains(text, "threadIdx.x) < limit")) << text;
}
#endif

__global__ void spin(mem<long long>* times) {
  const long long begin = clock64();
  while (clock64() < begin + 100) __nanosleep(20);
  times[threadIdx.x] = clock64() - begin;
}

TEST(VOCABULARY(Memory), TheClockGoesOn) {
  Array<long long> times(32);
  counted(kOneWarp, {}, spin, times.on_device());
  for (int i = 0; i < 32; ++i) EXPECT_GT(times[i], 100);
}

// ---- Cooperative groups ----

__global__ void sums_of_tiles(const mem<int>* from, mem<int>* sums, mem<unsigned>* ballots, mem<unsigned>* ranks) {
  const auto block = cooperative_groups::this_thread_block();
  const auto tile = cooperative_groups::tiled_partition<8>(block);
  const unsigned i = block.thread_rank();
  int sum = from[i];
  for (unsigned distance = tile.size() / 2; distance > 0; distance /= 2) sum += tile.shfl_xor(sum, distance);
  if (tile.thread_rank() == 0) sums[tile.meta_group_rank()] = sum;
  ballots[i] = tile.ballot(i % 3 == 0);
  block.sync();
  ranks[i] = 0;
  if (i % 5 == 0) {
    const auto together = cooperative_groups::coalesced_threads();
    ranks[i] = together.thread_rank() * 100 + together.size();
    together.sync();
  }
  cooperative_groups::sync(tile);
}

TEST(VOCABULARY(Groups), TilesAndCoalescedThreads) {
  constexpr unsigned kThreads = 64;
  Array<int> from(kThreads), sums(8);
  Array<unsigned> ballots(kThreads), ranks(kThreads);
  for (unsigned i = 0; i < kThreads; ++i) from[i] = static_cast<int>(i * i);
  counted({{1}, {16, 2, 2}}, {}, sums_of_tiles, from.on_device(), sums.on_device(), ballots.on_device(),
          ranks.on_device());
  for (unsigned t = 0; t < 8; ++t) EXPECT_EQ(sums[t], std::accumulate(&from[8 * t], &from[8 * t] + 8, 0));
  for (unsigned i = 0; i < kThreads; ++i) {
    unsigned bits = 0;
    for (unsigned j = 0; j < 8; ++j) bits |= static_cast<unsigned>((i / 8 * 8 + j) % 3 == 0) << j;
    EXPECT_EQ(ballots[i], bits);
    unsigned rank = 0, size = 0;
    for (unsigned j = i / 32 * 32; j < i / 32 * 32 + 32; ++j) {
      rank += j % 5 == 0 && j < i;
      size += j % 5 == 0;
    }
    EXPECT_EQ(ranks[i], i % 5 == 0 ? rank * 100 + size : 0);
  }
}

}  // namespace
}  // namespace rung
