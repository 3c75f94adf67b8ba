/// The emulator: what it counts against what can be worked out by hand, and what it says of wrong kernels.
#include "gpu/simt/emulator.hpp"

#include <gtest/gtest.h>
#include <omp.h>

#include <cstdlib>
#include <memory>
#include <numeric>
#include <set>
#include <string>

#include "common/harness/target.hpp"
#include "gpu/simt/simt.hpp"

namespace rung {
namespace {

/// An array in the emulated global memory, all zeros, aligned as cudaMalloc's are.
template <typename T>
class Array {
 public:
  explicit Array(std::size_t size)
      : data_(static_cast<T*>(std::aligned_alloc(256, (size * sizeof(T) / 256 + 1) * 256))) {
    std::fill_n(data_.get(), size, T{});
  }
  mem<T>* on_device() { return reinterpret_cast<mem<T>*>(data_.get()); }
  T& operator[](std::size_t i) { return data_.get()[i]; }

 private:
  struct Free {
    void operator()(T* memory) const { std::free(memory); }
  };
  std::unique_ptr<T, Free> data_;
};

template <typename... Parameters, typename... Arguments>
Counts counted(const Launch& shape, const EmulatorOptions& options, void (*kernel)(Parameters...),
               Arguments... arguments) {
  Recording recording(options);
  Call call;
  call.launch = shape;
  launch(call, kernel, arguments...);
  return recording.counts();
}

const Launch kOneWarp{{1}, {32}};

/// The message of the Error that the launch ends with; empty if it does not.
template <typename... Arguments>
std::string failure(Arguments... arguments) {
  try {
    counted(arguments...);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

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
  EXPECT_EQ(n.bytes_loaded, 4u * 2000 * 48);
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
  }
  out[0] = x;
}

struct Arithmetic {
  int which;
  Operations operations;
  double value;
};
const Arithmetic kArithmetic[] = {
    {0, {0, 0, 1, 0}, 3.0 * 5 + 7}, {1, {0, 0, 1, 0}, 22},  {2, {0, 0, 1, 0}, 22},  {3, {0, 0, 1, 0}, -8},
    {4, {0, 0, 1, 0}, 8},           {5, {0, 0, 1, 0}, -8},  {6, {0, 1, 1, 0}, 50},  {7, {0, 2, 0, 0}, 105},
    {8, {2, 0, 0, 0}, 1},           {9, {0, 0, 1, 0}, 22},  {10, {0, 1, 0, 0}, 6},  {11, {0, 0, 0, 0}, 3},
    {12, {0, 0, 0, 1}, 0.6},        {13, {1, 0, 0, 0}, 6},  {14, {0, 0, 0, 0}, 5},  {15, {0, 0, 1, 0}, 22},
    {16, {2, 1, 0, 0}, -16},        {17, {0, 0, 0, 0}, -3}, {18, {0, 1, 0, 0}, 21}, {19, {1, 0, 0, 1}, 6.7320508},
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

// ---- Shared memory ----

template <typename T>
__global__ void shared_strided(mem<float>* out, int stride) {
  __shared__ mem<T> array[32 * 33];
  array[threadIdx.x * stride] = T(threadIdx.x);
  out[threadIdx.x] = array[threadIdx.x * stride];
}

TEST(EmulatorShared, AStrideCostsAsManyWavefrontsAsLanesShareABank) {
  Array<float> out(32);
  for (int stride = 0; stride <= 33; ++stride) {
    const Counts n = counted(kOneWarp, {}, shared_strided<float>, out.on_device(), stride);
    EXPECT_EQ(n.shared_load_requests, 1u);
    EXPECT_EQ(n.shared_load_wavefronts, stride == 0 ? 1u : std::gcd(stride, 32)) << "stride " << stride;
    EXPECT_EQ(n.shared_store_wavefronts, n.shared_load_wavefronts);
    EXPECT_EQ(n.load_requests, 0u);
    EXPECT_EQ(n.store_requests, 1u);
  }
  EXPECT_EQ(counted(kOneWarp, {}, shared_strided<double>, out.on_device(), 1).shared_load_wavefronts, 2u);
  EXPECT_EQ(counted(kOneWarp, {}, shared_strided<double>, out.on_device(), 16).shared_load_wavefronts, 32u);
}

enum class Barriers { both, none_after_load, none_after_use };

template <int Tile, Barriers barriers>
__global__ void tile_product(const mem<float>* a, const mem<float>* b, mem<float>* c, int n) {
  __shared__ mem<float> as[Tile][Tile], bs[Tile][Tile];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int row = blockIdx.y * Tile + ty, col = blockIdx.x * Tile + tx;
  reg<float> sum = 0;
  for (int phase = 0; phase < n / Tile; ++phase) {
    as[ty][tx] = a[row * n + phase * Tile + tx];
    bs[ty][tx] = b[(phase * Tile + ty) * n + col];
    if (barriers != Barriers::none_after_load) __syncthreads();
    for (int i = 0; i < Tile; ++i) sum += as[ty][i] * bs[i][tx];
    if (barriers != Barriers::none_after_use) __syncthreads();
  }
  c[row * n + col] = sum;
}

/// A square product on whole numbers, whose exact result is known.
class Product64 {
 public:
  Product64() : a_(kN * kN), b_(kN * kN), c_(kN * kN) {
    for (int i = 0; i < kN * kN; ++i) {
      a_[i] = static_cast<float>(random_bits(1, i) % 9) - 4;
      b_[i] = static_cast<float>(random_bits(2, i) % 9) - 4;
    }
  }
  template <int Tile, Barriers barriers = Barriers::both>
  Counts run(const EmulatorOptions& options = {}) {
    for (int i = 0; i < kN * kN; ++i) c_[i] = -999;
    return counted({{kN / Tile, kN / Tile}, {Tile, Tile}}, options, tile_product<Tile, barriers>, a_.on_device(),
                   b_.on_device(), c_.on_device(), kN);
  }
  bool is_right() {
    for (int row = 0; row < kN; ++row)
      for (int col = 0; col < kN; ++col) {
        float sum = 0;
        for (int i = 0; i < kN; ++i) sum += a_[row * kN + i] * b_[i * kN + col];
        if (c_[row * kN + col] != sum) return false;
      }
    return true;
  }
  static constexpr int kN = 64;

 private:
  Array<float> a_, b_, c_;
};

template <int Tile>
void check_tile() {
  Product64 product;
  const Counts n = product.run<Tile>();
  constexpr std::uint64_t n3 = 64 * 64 * 64;
  EXPECT_TRUE(product.is_right());
  EXPECT_EQ(n.fp32.fmas, n3);
  EXPECT_EQ(n.flops(), 2 * n3);
  EXPECT_EQ(n.bytes_loaded, 8 * n3 / Tile);
  EXPECT_EQ(n.op_per_byte_loaded(), Tile / 4.0);
  EXPECT_EQ(n.sectors_per_load_request(), 4);
  EXPECT_EQ(n.shared_load_requests, 2 * n3 / 32);
  EXPECT_EQ(n.shared_load_wavefronts, n.shared_load_requests);
  EXPECT_EQ(n.shared_store_requests, 2 * n3 / Tile / 32);
  EXPECT_EQ(n.shared_store_wavefronts, n.shared_store_requests);
  EXPECT_EQ(n.barriers, 2 * n3 / Tile / 32);
  EXPECT_EQ(n.accesses, 2 * n3 + 4 * n3 / Tile + 64 * 64);
}

TEST(EmulatorShared, TilesGiveTheTextbooksRatios) {
  check_tile<8>();
  check_tile<16>();
  check_tile<32>();
}

__global__ void reverse_block(mem<float>* data, int n) {
  mem<float>* staged = dynamic_shared<mem<float>>();
  const int tx = threadIdx.x;
  if (tx < n) staged[tx] = data[tx];
  __syncthreads();
  if (tx < n) data[tx] = staged[n - 1 - tx];
}

TEST(EmulatorShared, DynamicSharedMemoryIsSharedMemory) {
  for (const int n : {1, 33, 200, 256}) {
    Array<float> data(n);
    for (int i = 0; i < n; ++i) data[i] = static_cast<float>(i);
    const Counts counts = counted({{1}, {256}, n * sizeof(float)}, {}, reverse_block, data.on_device(), n);
    for (int i = 0; i < n; ++i) EXPECT_EQ(data[i], n - 1 - i);
    EXPECT_EQ(counts.shared_load_requests, (n + 31u) / 32);
    EXPECT_EQ(counts.shared_store_requests, (n + 31u) / 32);
    EXPECT_EQ(counts.load_requests, (n + 31u) / 32);
    EXPECT_EQ(counts.barriers, 8u);
  }
}

// ---- Barriers, orders, failures ----

TEST(EmulatorBarriers, EveryOrderGivesTheSameResultAndCounts) {
  Product64 product;
  const Counts forward = product.run<16>();
  for (const Order order : {Order::forward, Order::reverse, Order::random})
    for (const std::uint64_t seed : {1, 2, 3}) {
      const Counts n = product.run<16>({.order = order, .seed = seed});
      EXPECT_TRUE(product.is_right());
      EXPECT_EQ(n.load_sectors, forward.load_sectors);
      EXPECT_EQ(n.shared_load_wavefronts, forward.shared_load_wavefronts);
      EXPECT_EQ(n.accesses, forward.accesses);
    }
}

template <Barriers barriers>
int wrong_orders() {
  Product64 product;
  int wrong = 0;
  for (const Order order : {Order::forward, Order::reverse, Order::random}) {
    product.run<16, barriers>({.order = order});
    wrong += !product.is_right();
  }
  return wrong;
}

TEST(EmulatorBarriers, AMissingBarrierShowsInTheResult) {
  EXPECT_EQ(wrong_orders<Barriers::both>(), 0);
  EXPECT_GT(wrong_orders<Barriers::none_after_load>(), 0);
  EXPECT_GT(wrong_orders<Barriers::none_after_use>(), 0);
}

__global__ void some_leave_early(mem<int>* arrived, int stay) {
  if (static_cast<int>(threadIdx.x) >= stay) return;
  __syncthreads();
  arrived[blockIdx.x * stay + threadIdx.x] = 1;
  __syncthreads();
}

TEST(EmulatorBarriers, ThreadsThatHaveEndedCountAsArrived) {
  for (const int stay : {1, 31, 32, 33, 100}) {
    Array<int> arrived(3 * stay);
    const Counts n = counted({{3}, {128}}, {}, some_leave_early, arrived.on_device(), stay);
    for (int i = 0; i < 3 * stay; ++i) EXPECT_EQ(arrived[i], 1);
    EXPECT_EQ(n.barriers, 3u * 2 * ((stay + 31) / 32));
  }
}

constexpr int kDivergentLine = __LINE__ + 1;
__global__ void divergent_barrier(mem<int>* out, int limit) {
  if (static_cast<int>(threadIdx.x) < limit) {
    __syncthreads();
    out[threadIdx.x] = 1;
  } else {
    out[threadIdx.x] = 2;
    __syncthreads();
    out[threadIdx.x] = 3;
  }
}

TEST(EmulatorBarriers, ADivergentBarrierIsReportedWithBothPlaces) {
  Array<int> out(64);
  const std::string message = failure(Launch{{2}, {64}}, EmulatorOptions{}, divergent_barrier, out.on_device(), 40);
  EXPECT_EQ(message,
            "block (0, 0, 0), thread (40, 0, 0): waits at the barrier at emulator_test.cpp:" +
                std::to_string(kDivergentLine + 6) +
                " while thread (0, 0, 0) waits at the one at emulator_test.cpp:" + std::to_string(kDivergentLine + 2));
  // Afterwards the emulator is as good as new.
  EXPECT_EQ(failure(Launch{{2}, {64}}, EmulatorOptions{}, divergent_barrier, out.on_device(), 64), "");
  Product64 product;
  EXPECT_EQ(product.run<16>().op_per_byte_loaded(), 4);
  EXPECT_TRUE(product.is_right());
}

__global__ void throws(mem<int>* out, int block, int thread) {
  out[threadIdx.x] = 0;
  if (threadIdx.x % 2 == 0) __syncthreads();
  if (static_cast<int>(blockIdx.x) >= block && static_cast<int>(threadIdx.x) == thread)
    throw std::out_of_range("no such element");
}

TEST(EmulatorFailures, NameBlockAndThreadOfTheFirstOne) {
  Array<int> out(64);
  for (int repetition = 0; repetition < 20; ++repetition)
    EXPECT_EQ(failure(Launch{{100}, {64}}, EmulatorOptions{}, throws, out.on_device(), 7, 33),
              "block (7, 0, 0), thread (33, 0, 0): no such element");
}

TEST(EmulatorFailures, LaunchesBeyondTheLimitsAreRefusedInCudasWords) {
  Array<int> out(1);
  const auto message = [&](const Launch& shape) {
    return failure(shape, EmulatorOptions{}, some_leave_early, out.on_device(), 0);
  };
  EXPECT_TRUE(contains(message({{1}, {1025}}), "cudaErrorInvalidConfiguration"));
  EXPECT_TRUE(contains(message({{1}, {1, 1, 65}}), "cudaErrorInvalidConfiguration"));
  EXPECT_TRUE(contains(message({{0}, {32}}), "cudaErrorInvalidConfiguration"));
  EXPECT_TRUE(contains(message({{1, 65536}, {1}}), "cudaErrorInvalidConfiguration"));
  EXPECT_TRUE(contains(message({{1}, {32}, (227 << 10) + 1}), "cudaErrorInvalidValue"));
  EXPECT_EQ(message({{1}, {1024}, 227 << 10}), "");
}

// ---- Blocks over OS threads, and runs that are not counted ----

TEST(EmulatorRuns, CountsDoNotDependOnTheNumberOfOsThreads) {
  const int before = omp_get_max_threads();
  Product64 product;
  std::vector<Counts> all;
  for (const int threads : {1, 2, 3, 8}) {
    omp_set_num_threads(threads);
    all.push_back(product.run<8>({.order = Order::random}));
    EXPECT_TRUE(product.is_right());
  }
  omp_set_num_threads(before);
  for (const Counts& n : all) {
    EXPECT_EQ(n.fp32.fmas, all[0].fp32.fmas);
    EXPECT_EQ(n.load_sectors, all[0].load_sectors);
    EXPECT_EQ(n.barriers, all[0].barriers);
    ASSERT_EQ(n.sites.size(), all[0].sites.size());
    for (std::size_t i = 0; i < n.sites.size(); ++i) {
      EXPECT_EQ(n.sites[i].address, all[0].sites[i].address);
      EXPECT_EQ(n.sites[i].requests, all[0].sites[i].requests);
      EXPECT_EQ(n.sites[i].transactions, all[0].sites[i].transactions);
    }
  }
}

TEST(EmulatorRuns, WithoutCountingTheResultIsTheSame) {
  Product64 product;
  const Counts n = product.run<16>({.counting = false});
  EXPECT_TRUE(product.is_right());
  EXPECT_EQ(n.accesses, 0u);
}

TEST(EmulatorRuns, ARecordingAddsUpItsLaunches) {
  Array<float> from(32), to(32);
  Recording recording;
  Call call;
  call.launch = kOneWarp;
  for (int i = 0; i < 3; ++i)
    launch(call, copy_strided, static_cast<const mem<float>*>(from.on_device()), to.on_device(), 1, 0);
  EXPECT_EQ(recording.counts().load_requests, 3u);
  {
    const Recording inner;
    launch(call, copy_strided, static_cast<const mem<float>*>(from.on_device()), to.on_device(), 1, 0);
  }
  EXPECT_EQ(recording.counts().load_requests, 3u);
  Resources resources;
  call.inspect = &resources;  // a question about the compiled kernel is no launch
  launch(call, copy_strided, static_cast<const mem<float>*>(from.on_device()), to.on_device(), 1, 0);
  EXPECT_EQ(recording.counts().load_requests, 3u);
}

TEST(EmulatorRuns, TheSuitesKernelsAreCountedAndJudged) {
  const Counts naive = count(find_kernel("gpu/matmul/naive"), {{"n", 64}, {"block", 16}});
  EXPECT_TRUE(naive.check.passed()) << naive.check.failure;
  EXPECT_EQ(naive.op_per_byte_loaded(), 0.25);
  EXPECT_EQ(naive.sectors_per_load_request(), 2);
  const Counts odd = count(find_kernel("gpu/matmul/naive"), {{"m", 33}, {"n", 7}, {"k", 51}}, {.order = Order::random});
  EXPECT_TRUE(odd.check.passed()) << odd.check.failure;
  EXPECT_EQ(odd.op_per_byte_loaded(), 0.25);
  EXPECT_EQ(odd.flops(), 2u * 33 * 7 * 51);
}

TEST(EmulatorRuns, ACaseThatCannotBeEmulatedIsRefusedByName) {
  const auto message = [](const std::string& kernel) -> std::string {
    try {
      count(find_kernel(kernel), {{"n", 8}});
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_TRUE(contains(message("cpu/matmul/naive"), "cpu/matmul/naive: not a GPU kernel"));
  EXPECT_TRUE(contains(message("gpu/matmul/cublas"), "gpu/matmul/cublas: not emulated: "));
  const std::unique_ptr<Target> target = open_emulator();
  Call call;
  EXPECT_EQ(target->refuse(find_kernel("gpu/matmul/naive"), call), "");
  call.launch.block = {32, 64};
  EXPECT_TRUE(contains(target->refuse(find_kernel("gpu/matmul/naive"), call), "1024 threads"));
}

TEST(EmulatorRuns, TheTargetsMemoryIsAlignedAsCudas) {
  const std::unique_ptr<Target> target = open_emulator();
  for (const std::size_t bytes : {0, 1, 255, 256, 257, 100000}) {
    void* memory = target->allocate(bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % 256, 0u);
    target->release(memory);
  }
  EXPECT_THROW(target->allocate(~std::size_t{0} - 100), Error);
  EXPECT_GT(target->free_bytes(), 1u << 20);
}

}  // namespace
}  // namespace rung
