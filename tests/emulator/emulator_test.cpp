/// The emulator's counts against values worked out by hand: global memory, divergence, arithmetic.
#include <gtest/gtest.h>

#include <functional>
#include <numeric>
#include <set>

#include "gpu/simt/ways_walked.hpp"
#include "tests/emulator/emulator_support.hpp"

namespace rung {
namespace {

// ---- Global memory: requests, sectors, bytes ----

__global__ void copy_strided(const mem<float>* from, mem<float>* to, int stride, int offset) {
  to[threadIdx.x] = from[threadIdx.x * stride + offset];
}

TEST(EmulatorMemory, AWarpsLoadIsOneRequestOfTheSectorsItTouches) {
  Array<float> from(2048), to(32);
  for (int stride = 0; stride <= 40; ++stride)
    for (int offset = 0; offset < 20; ++offset) {
      const Counts n = counted(kOneWarp, {}, copy_strided, from.on_device(), to.on_device(), stride, offset);
      std::set<int> sectors;
      for (int lane = 0; lane < 32; ++lane) sectors.insert((lane * stride + offset) / 8);
      EXPECT_EQ(n.load_requests, 1u);
      EXPECT_EQ(n.load_sectors, sectors.size()) << "stride " << stride << ", offset " << offset;
      EXPECT_EQ(n.store_requests, 1u);
      EXPECT_EQ(n.store_sectors, 4u);
      EXPECT_EQ(n.bytes_loaded, 128u);
      EXPECT_EQ(n.bytes_stored, 128u);
      EXPECT_EQ(n.accesses, 64u);
    }
}

TEST(EmulatorMemory, OneElementOfMisalignmentIsOneSectorMore) {
  Array<float> from(64), to(32);
  EXPECT_EQ(counted(kOneWarp, {}, copy_strided, from.on_device(), to.on_device(), 1, 0).load_sectors, 4u);
  EXPECT_EQ(counted(kOneWarp, {}, copy_strided, from.on_device(), to.on_device(), 1, 1).load_sectors, 5u);
  EXPECT_EQ(counted(kOneWarp, {}, copy_strided, from.on_device(), to.on_device(), 1, 8).load_sectors, 4u);
}

template <typename T>
__global__ void gather(const mem<int>* indices, const mem<T>* from, mem<T>* to, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) to[i] = from[indices[i]];
}

template <typename T>
void check_gather(int n, int span) {
  Array<int> indices(n);
  Array<T> from(span), to(n);
  std::iota(&from[0], &from[span - 1] + 1, T{1});
  std::uint64_t sectors = 0;
  for (int warp = 0; warp * 32 < n; ++warp) {
    std::set<int> own;
    for (int i = warp * 32; i < std::min(n, warp * 32 + 32); ++i) {
      indices[i] = static_cast<int>(random_bits(7, i) % span);
      own.insert(indices[i] * static_cast<int>(sizeof(T)) / 32);
    }
    sectors += own.size() + (std::min(n, warp * 32 + 32) - warp * 32 + 7) / 8;  // the elements and the indices
  }
  const Counts counts =
      counted({{blocks_for(n, 96)}, {96}}, {}, gather<T>, indices.on_device(), from.on_device(), to.on_device(), n);
  EXPECT_EQ(counts.load_sectors, sectors);
  EXPECT_EQ(counts.load_requests, 2u * ((n + 31) / 32));
  EXPECT_EQ(counts.bytes_loaded, n * (4 + sizeof(T)));
  EXPECT_EQ(counts.bytes_stored, n * sizeof(T));
  for (int i = 0; i < n; ++i) EXPECT_EQ(to[i], from[indices[i]]);
}

TEST(EmulatorMemory, GathersOfEveryTypeAndOddSize) {
  for (const int n : {1, 31, 32, 33, 96, 97, 1000})
    for (const int span : {1, 40, 300, 100000}) {
      check_gather<float>(n, span);
      check_gather<double>(n, span);
      check_gather<int>(n, span);
      check_gather<unsigned>(n, span);
      check_gather<unsigned char>(n, span);
    }
}

__global__ void transpose(const mem<float>* from, mem<float>* to, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  const int z = blockIdx.z * blockDim.z + threadIdx.z;
  if (x < width && y < height) to[(z * width + x) * height + y] = from[(z * height + y) * width + x];
}

TEST(EmulatorMemory, ThreeDimensionsWithPartlyActiveWarps) {
  constexpr int width = 21, height = 13, depth = 6;
  Array<float> from(width * height * depth), to(width * height * depth);
  for (int i = 0; i < width * height * depth; ++i) from[i] = static_cast<float>(i);
  const Counts n = counted({{3, 4, 3}, {8, 4, 2}}, {}, transpose, from.on_device(), to.on_device(), width, height);
  EXPECT_EQ(n.bytes_loaded, 4u * width * height * depth);
  EXPECT_EQ(n.bytes_stored, 4u * width * height * depth);
  EXPECT_EQ(n.load_requests, 3u * 4 * 6);  // a warp is one 8 x 4 layer; in each block that reaches into the image
  for (int z = 0; z < depth; ++z)
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x) EXPECT_EQ(to[(z * width + x) * height + y], from[(z * height + y) * width + x]);
}

// ---- Divergence: which lanes make one request ----

__global__ void unequal_loops(const mem<float>* from, mem<float>* to, int unit) {
  reg<float> sum = 0;
  for (int i = 0; i < static_cast<int>(threadIdx.x + 1) * unit; ++i) sum += from[i % 64];
  to[threadIdx.x] = sum;
}

TEST(EmulatorDivergence, LanesLeaveALoopOneByOneAndMeetAgain) {
  Array<float> from(64), to(32);
  for (const int unit : {1, 7, 50, 300}) {  // beyond a lane's log, too
    const Counts n = counted(kOneWarp, {}, unequal_loops, from.on_device(), to.on_device(), unit);
    EXPECT_EQ(n.load_requests, 32u * unit);
    EXPECT_EQ(n.load_sectors, 32u * unit);
    EXPECT_EQ(n.bytes_loaded, 4u * unit * 32 * 33 / 2);
    EXPECT_EQ(n.store_requests, 1u);
  }
}

__global__ void alternating(const mem<float>* a, const mem<float>* b, mem<float>* to, int steps) {
  const int lane = threadIdx.x;
  reg<float> sum = 0;
  for (int i = 0; i < steps; ++i) {
    if ((i + lane) % 2 == 0) sum += a[i];
    sum += b[i];
  }
  to[lane] = sum;
}

TEST(EmulatorDivergence, LanesThatPartWithinALoopMeetInTheSameIteration) {
  Array<float> a(2000), b(2000), to(32);
  const Counts n = counted(kOneWarp, {}, alternating, a.on_device(), b.on_device(), to.on_device(), 2000);
  EXPECT_EQ(n.load_requests, 4000u);  // 2000 of b by all lanes, 2000 of a by half of them
  EXPECT_EQ(n.load_sectors, 4000u);
  EXPECT_EQ(n.bytes_loaded, 4u * 2000 * 48);
}

__global__ void guarded(const mem<float>* a, const mem<float>* b, mem<float>* to, int n, int steps) {
  const int x = threadIdx.x % 8, y = threadIdx.x / 8;
  for (int step = 0; step < steps; ++step) {
    if (y < n && step * 8 + x < n)
      to[threadIdx.x] = a[step * 8 + x];
    else
      to[threadIdx.x] = 0;
    if (step * 8 + y < n && x < n)
      to[threadIdx.x] = b[step * 8 + y];
    else
      to[threadIdx.x] = 0;
    __syncthreads();
  }
}

TEST(EmulatorDivergence, BothSidesOfAGuardMeetAfterIt) {
  Array<float> a(64), b(64), to(32);
  const Counts n = counted(kOneWarp, {}, guarded, a.on_device(), b.on_device(), to.on_device(), 10, 2);
  EXPECT_EQ(n.load_requests, 4u);
  EXPECT_EQ(n.store_requests, 2u + 4);  // in the second step of both, some lanes are outside
}

__global__ void two_ways(mem<float>* to) {
  if (threadIdx.x % 2 == 0)
    to[threadIdx.x] = 1;
  else
    to[threadIdx.x] = 2;
}

TEST(EmulatorDivergence, BothSidesOfABranchAreRequests) {
  Array<float> to(32);
  const Counts n = counted(kOneWarp, {}, two_ways, to.on_device());
  EXPECT_EQ(n.store_requests, 2u);
  EXPECT_EQ(n.store_sectors, 8u);
  EXPECT_EQ(n.sites.size(), 2u);
  EXPECT_EQ(to[4], 1);
  EXPECT_EQ(to[5], 2);
}

// ---- Arithmetic ----

template <typename T>
__global__ void arithmetic(const mem<T>* in, mem<T>* out, int which) {
  const reg<T> a = in[0], b = in[1], c = in[2];
  reg<T> x = c;
  switch (which) {
    case 0:
      x = a * b + c;
      break;
    case 1:
      x = c + a * b;
      break;
    case 2:
      x += a * b;
      break;
    case 3:
      x -= a * b;
      break;
    case 4:
      x = a * b - c;
      break;
    case 5:
      x = -(a * b) + c;
      break;
    case 6:
      x = a * b + b * c;
      break;
    case 7:
      x = a * b * c;
      break;
    case 8:
      x = a + b - c;
      break;
    case 9:
      x = in[0] * in[1] + in[2];
      break;
    case 10:
      x = 2 * a;
      break;
    case 11:
      x = a < b ? a : 0;
      break;
    case 12:
      x = a / b;
      break;
    case 13:
      x = min(a, b) + max(in[0], T(2));
      break;
    case 14:
      x = which < 20 ? in[1] : 0;
      break;
    case 15:
      x = fmaf(a, b, c);
      break;
    case 16:
      x = (a + b) * (a - b);
      break;
    case 17:
      x = -a;
      break;
    case 18:
      x *= a;
      break;
    case 19:
      x = sqrt(a) + fabs(-b);
      break;
    case 20:
      x = a * T(2) + c;
      break;
    case 21:
      x = c - T(2) * a;
      break;
    case 22:
      x = a * b * T(2);
      break;
    case 23:
      x = a * T(1) + b * T(-1);
      break;
    case 24:
      x = a / T(4);
      break;
    case 25:
      x = c - a / T(2);
      break;
    case 26:
      x = a / T(1) + b / T(3);
      break;
  }
  out[0] = x;
}

struct Arithmetic {
  int which;
  Operations operations;
  double value;
};
const Arithmetic kArithmetic[] = {
    {0, {0, 0, 1, 0}, 3.0 * 5 + 7}, {1, {0, 0, 1, 0}, 22},         {2, {0, 0, 1, 0}, 22},
    {3, {0, 0, 1, 0}, -8},          {4, {0, 0, 1, 0}, 8},          {5, {0, 0, 1, 0}, -8},
    {6, {0, 1, 1, 0}, 50},          {7, {0, 2, 0, 0}, 105},        {8, {2, 0, 0, 0}, 1},
    {9, {0, 0, 1, 0}, 22},          {10, {1, 0, 0, 0}, 6},         {11, {0, 0, 0, 0}, 3},
    {12, {0, 0, 0, 1}, 0.6},        {13, {1, 0, 0, 0}, 6},         {14, {0, 0, 0, 0}, 5},
    {15, {0, 0, 1, 0}, 22},         {16, {2, 1, 0, 0}, -16},       {17, {0, 0, 0, 0}, -3},
    {18, {0, 1, 0, 0}, 21},         {19, {1, 0, 0, 1}, 6.7320508}, {20, {0, 0, 1, 0}, 13},
    {21, {2, 0, 0, 0}, 1},          {22, {0, 1, 1, 0}, 30},        {23, {1, 0, 0, 0}, -2},
    {24, {0, 1, 0, 0}, 0.75},       {25, {0, 0, 1, 0}, 5.5},       {26, {1, 0, 0, 1}, 3 + 5.0 / 3},
};

void expect_equal(const Operations& got, const Operations& want, int which) {
  EXPECT_EQ(got.adds, want.adds) << "case " << which;
  EXPECT_EQ(got.muls, want.muls) << "case " << which;
  EXPECT_EQ(got.fmas, want.fmas) << "case " << which;
  EXPECT_EQ(got.specials, want.specials) << "case " << which;
}

template <typename T>
void check_arithmetic() {
  Array<T> in(3), out(1);
  in[0] = 3, in[1] = 5, in[2] = 7;
  for (const auto& [which, operations, value] : kArithmetic) {
    if (which == 15 && sizeof(T) == 8) continue;  // fmaf is single precision
    const Counts n = counted({{1}, {1}}, {}, arithmetic<T>, in.on_device(), out.on_device(), which);
    expect_equal(sizeof(T) == 4 ? n.fp32 : n.fp64, operations, which);
    expect_equal(sizeof(T) == 4 ? n.fp64 : n.fp32, {}, which);
    EXPECT_NEAR(out[0], value, 1e-6) << "case " << which;
  }
}

TEST(EmulatorArithmetic, CountsSumsProductsAndTheirFusion) {
  check_arithmetic<float>();
  check_arithmetic<double>();
}

TEST(EmulatorArithmetic, AFusedMultiplyAddRoundsOnce) {
  Array<float> in(3), out(1);
  in[0] = in[1] = 1 + 0x1p-12f, in[2] = -(1 + 0x1p-11f);
  counted({{1}, {1}}, {}, arithmetic<float>, in.on_device(), out.on_device(), 0);
  EXPECT_EQ(out[0], 0x1p-24f);  // what rounding the product first would lose
}

__global__ void updates(mem<float>* x, mem<int>* i, const mem<float>* y) {
  x[0] += y[0] * y[1];
  x[1] -= 1;
  x[2] *= y[0];
  x[3] = y[2];
  i[0] += 2;
  i[1] = i[0] + i[1];
  const reg<double> wide = 0.5 * reg<float>(y[1]);
  x[4] = wide;
}

TEST(EmulatorArithmetic, UpdatesLoadAndStore) {
  Array<float> x(5), y(3);
  Array<int> i(2);
  y[0] = 3, y[1] = 5, y[2] = 7, x[2] = 2, i[1] = 4;
  const Counts n = counted({{1}, {1}}, {}, updates, x.on_device(), i.on_device(), y.on_device());
  EXPECT_EQ(n.load_requests, 3u + 1 + 2 + 1 + 1 + 2 + 1);
  EXPECT_EQ(n.store_requests, 7u);
  expect_equal(n.fp32, {1, 1, 1, 0}, 0);
  expect_equal(n.fp64, {0, 1, 0, 0}, 0);
  EXPECT_EQ(n.flops(), 5u);
  EXPECT_EQ(x[0], 15);
  EXPECT_EQ(x[1], -1);
  EXPECT_EQ(x[2], 6);
  EXPECT_EQ(x[3], 7);
  EXPECT_EQ(x[4], 2.5f);
  EXPECT_EQ(i[0], 2);
  EXPECT_EQ(i[1], 6);
}

// ---- Atomics, and what follows them ----

__global__ void store_after_largest(const mem<int>* in, mem<int>* largest, mem<int>* out) {
  const int i = threadIdx.x, value = in[i];
  if (value >= 0) atomicMax(&largest[value % 2], value);
  out[i] = value;
}

TEST(EmulatorAtomic, OneThatChangesNothingSplitsNoLaterRequest) {
  Array<int> in(96), largest(2), out(96);
  for (int i = 0; i < 96; ++i) in[i] = i % 3 == 0 ? -1 : 96 - i;
  const Counts n = counted({{1}, {96}}, {}, store_after_largest, in.on_device(), largest.on_device(), out.on_device());
  EXPECT_EQ(n.store_requests, 3u);
  EXPECT_EQ(n.atomic_requests, 3u);
}

__global__ void flags_in_a_branch(const mem<int>* in, mem<int>* flags, mem<int>* out) {
  for (int round = 0; round < 2; ++round) {
    const int i = in[threadIdx.x];
    int value = 0;
    if (i % (2 + round) == 0) {
      const volatile mem<int>* const flag = flags + i;
      value = *flag;
    }
    out[threadIdx.x] = value;
  }
}

TEST(EmulatorAtomic, AVolatileLoadInABranchSplitsNoLaterRequest) {
  Array<int> in(64), flags(64), out(64);
  for (int i = 0; i < 64; ++i) in[i] = i;
  const Counts n = counted({{1}, {64}}, {}, flags_in_a_branch, in.on_device(), flags.on_device(), out.on_device());
  EXPECT_EQ(n.load_requests, 2u * 2 * 2);
  EXPECT_EQ(n.store_requests, 2u * 2);
}

/// Each lane adds to an element: of global memory, of shared memory, and by attempts.
template <typename T>
__global__ void add_to_few(mem<T>* sums, int elements) {
  __shared__ mem<T> own[32];
  const int i = threadIdx.x % elements;
  own[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&sums[8 * i], static_cast<T>(threadIdx.x));
  atomicAdd(&own[i], static_cast<T>(threadIdx.x));
}

TEST(EmulatorAtomic, LanesThatShareAnAddressTakeTurns) {
  Array<int> sums(256);
  for (const unsigned elements : {1u, 2u, 8u, 32u}) {
    const Counts n = counted(kOneWarp, {}, add_to_few<int>, sums.on_device(), static_cast<int>(elements));
    EXPECT_EQ(n.atomic_requests, 1u);
    EXPECT_EQ(n.atomic_sectors, 32u) << elements;  // elements are sectors of their own
    EXPECT_EQ(n.shared_atomic_requests, 1u);
    EXPECT_EQ(n.shared_atomic_wavefronts, 32 / elements);
  }
}

TEST(EmulatorAtomic, ASumOfFloatsInSharedMemoryIsMadeByAttempts) {
  Array<float> sums(256);
  for (const unsigned elements : {1u, 2u, 8u, 32u}) {
    const Counts n =
        counted(kOneWarp, {.lines = true}, add_to_few<float>, sums.on_device(), static_cast<int>(elements));
    const unsigned rounds = 32 / elements;
    EXPECT_EQ(n.shared_atomic_requests, rounds);
    EXPECT_EQ(n.shared_load_requests, rounds);
    EXPECT_EQ(n.shared_atomic_wavefronts, 2 * rounds);
    EXPECT_EQ(n.fp32.adds, elements * rounds * (rounds + 1) / 2);
    std::uint64_t by_line = 0;
    for (const OperationSite& site : n.operation_sites) by_line += site.fp32.adds;
    EXPECT_EQ(by_line, n.fp32.adds);
  }
}

__global__ void add_by_attempts(mem<int>* sums, mem<int>* out, int elements) {
  const int i = threadIdx.x % elements;
  int old = sums[i], seen;
  do {
    seen = old;
    old = atomicCAS(&sums[i], seen, seen + 1);
  } while (old != seen);
  out[threadIdx.x] = old;
}

TEST(EmulatorAtomic, LanesAttemptAtTheSameTime) {
  for (const unsigned elements : {1u, 2u, 8u, 32u}) {
    Array<int> sums(32), out(32);
    const Counts n =
        counted(kOneWarp, {}, add_by_attempts, sums.on_device(), out.on_device(), static_cast<int>(elements));
    EXPECT_EQ(n.load_requests, 1u);
    EXPECT_EQ(n.atomic_requests, 32 / elements);
    EXPECT_EQ(n.store_requests, 32 / elements);  // lanes that have succeeded do not wait for the others
    for (unsigned i = 0; i < elements; ++i) EXPECT_EQ(sums[i], 32 / static_cast<int>(elements));
  }
}

// ---- Wavefronts of wide accesses to shared memory ----

template <typename Vector>
__global__ void wide_shared(const mem<int>* where, mem<float>* out) {
  __shared__ __align__(16) mem<Vector> tile[64];
  const int i = where[threadIdx.x];
  tile[i] = Vector{};
  __syncwarp();
  const Vector read = tile[i];
  out[threadIdx.x] = read.x;
}

/// Wavefronts of the warp's load and of its store, if lane l uses element element_of(l).
template <typename Vector>
std::pair<std::uint64_t, std::uint64_t> wavefronts(const std::function<int(int)>& element_of) {
  Array<int> where(32);
  Array<float> out(32);
  for (int lane = 0; lane < 32; ++lane) where[lane] = element_of(lane);
  const Counts n = counted(kOneWarp, {}, wide_shared<Vector>, where.on_device(), out.on_device());
  return {n.shared_load_wavefronts, n.shared_store_wavefronts};
}
template <typename Vector>
std::pair<std::uint64_t, std::uint64_t> wavefronts(int divisor, int modulus) {
  return wavefronts<Vector>([=](int lane) { return lane / divisor % modulus; });
}

/// An H200's counters of the same patterns.
TEST(EmulatorShared, WideLoadsGoTwoPartsAtATimeIfNeighboursReadTheSame) {
  using Both = std::pair<std::uint64_t, std::uint64_t>;
  EXPECT_EQ(wavefronts<float2>(1, 32), (Both{2, 2}));
  EXPECT_EQ(wavefronts<float2>(32, 32), (Both{1, 2}));
  EXPECT_EQ(wavefronts<float2>(2, 32), (Both{1, 2}));  // lanes 2i and 2i + 1 read the same
  EXPECT_EQ(wavefronts<float2>(1, 2), (Both{1, 2}));   // lanes i and i ^ 2
  EXPECT_EQ(wavefronts<float4>(1, 32), (Both{4, 4}));
  EXPECT_EQ(wavefronts<float4>(32, 32), (Both{2, 4}));
  EXPECT_EQ(wavefronts<float4>(2, 32), (Both{2, 4}));
  EXPECT_EQ(wavefronts<float4>(1, 2), (Both{2, 4}));
  EXPECT_EQ(wavefronts<float4>(1, 4), (Both{4, 4}));  // the same 4 elements, but no neighbours share one
  // Of a float4's quarters the first two are served at once, the last two not.
  EXPECT_EQ(wavefronts<float4>([](int lane) { return lane < 16 ? 0 : lane; }), (Both{3, 4}));
  // Neighbours read the same, but two of the first half's elements are in one bank.
  EXPECT_EQ(wavefronts<float2>([](int lane) { return lane / 2 == 1 ? 16 : lane < 16 ? 0 : 1; }), (Both{3, 3}));
}

// ---- Constant memory: words of a request, and the counted paths of a branch ----

__constant__ mem<int> constants[32];

__global__ void read_constants(mem<int>* out, int distinct) {
  const int value = constants[threadIdx.x % distinct];
  out[threadIdx.x] = value;
}

TEST(EmulatorConstant, ARequestHasAsManyWordsAsItsLanesHaveAddresses) {
  Array<int> out(64);
  for (const int distinct : {1, 2, 5, 32}) {
    const Counts n = counted({{1}, {64}}, {}, read_constants, out.on_device(), distinct);
    EXPECT_EQ(n.constant_requests, 2u);
    EXPECT_EQ(n.constant_words, 2u * distinct);
    EXPECT_EQ(n.bytes_loaded, 0u);
  }
}

__global__ void walk_ways(mem<int>* out, int group) {
  for (int round = 0; round < 3; ++round)
    if ((threadIdx.x / group + round) % 2 == 0) {
      count_way();
      out[threadIdx.x] = 1;
    } else {
      count_way();
      out[threadIdx.x] = 2;
    }
}

TEST(EmulatorConstant, WaysAreCountedOnceForEachThatAWarpWalks) {
#ifdef __clang__
  GTEST_SKIP() << "clang may lay out a branch so that one way leads back, as if to the next round of the loop";
#endif
  Array<int> out(128);
  for (const int group : {1, 3, 16, 32, 64, 128})
    EXPECT_EQ(counted({{1}, {128}}, {}, walk_ways, out.on_device(), group).constant_requests, group < 32 ? 24u : 12u)
        << group;
}

__global__ void loads_twice(const mem<float>* from, mem<float>* to, bool is_past_l1) {
  const int i = threadIdx.x;
  for (int round = 0; round < 2; ++round)
    if (is_past_l1)
      to[i] = __ldcg(from + i);
    else
      to[i] = from[i];
}

TEST(EmulatorMemory, ALoadPastTheL1IsNotServedThere) {
  Array<float> from(32), to(32);
  const EmulatorOptions h200{.caches = &find_device("H200")};
  const Counts usual = counted(kOneWarp, h200, loads_twice, from.on_device(), to.on_device(), false);
  const Counts past = counted(kOneWarp, h200, loads_twice, from.on_device(), to.on_device(), true);
  EXPECT_EQ(usual.caches.l1_load_hits, 4u);
  EXPECT_EQ(past.caches.l1_load_hits, 0u);
  EXPECT_EQ(past.caches.l2_load_sectors, 8u);
  EXPECT_EQ(past.load_sectors, usual.load_sectors);
}

}  // namespace
}  // namespace rung
