/// The emulator's blocks: shared memory, barriers, orders of threads, failures, and the modes of execution.
#include <gtest/gtest.h>
#include <omp.h>

#include <numeric>
#include <stdexcept>
#include <vector>

#include "common/machine/target.hpp"
#include "gpu/simt/launch_together.hpp"
#include "tests/emulator/emulator_support.hpp"

namespace rung {
namespace {

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

/// The kinds and lines of what a checked run finds.
template <typename... Arguments>
std::string found_by(const Launch& shape, Arguments... arguments) {
  std::string text;
  for (const Finding& finding : counted(shape, EmulatorOptions{.hazards = true}, arguments...).findings)
    text += finding.text() + "\n";
  return text;
}

constexpr int kEarlyLine = __LINE__ + 5;
__global__ void some_go_on_with_a_barrier(mem<int>* out, int stay) {
  __shared__ mem<int> tile[64];
  if (static_cast<int>(threadIdx.x) < stay) {
    tile[threadIdx.x] = 1;
    __syncthreads();
    out[blockIdx.x * 64 + threadIdx.x] = tile[stay - 1 - threadIdx.x];
  }
}

TEST(EmulatorBarriers, OneThatLanesReachAfterOthersHaveLeftIsNamedItself) {
  Array<int> out(3 * 64);
  EXPECT_EQ(found_by({{3}, {64}}, some_go_on_with_a_barrier, out.on_device(), 48),
            "divergent barrier: block (0, 0, 0), thread (32, 0, 0) waits for the block at emulator_block_test.cpp:" +
                std::to_string(kEarlyLine) + "; thread (48, 0, 0) of its warp has left the kernel (3 times)\n");
  for (const int stay : {32, 64})
    EXPECT_EQ(found_by({{3}, {64}}, some_go_on_with_a_barrier, out.on_device(), stay), "");
}

__global__ void write_up_to(mem<int>* out, int last) {
  if (static_cast<int>(threadIdx.x) <= last) out[threadIdx.x] = 1;
}
__global__ void read_all(const mem<int>* from, mem<int>* out) { out[threadIdx.x] = from[threadIdx.x]; }

TEST(EmulatorFailures, NothingIsSaidOfWhatFollowsFromAFault) {
  constexpr int kThreads = 64;
  for (const int last : {kThreads - 2, kThreads - 1, kThreads}) {
    mem<int>* const between = static_cast<mem<int>*>(allocate_on_device(kThreads * sizeof(int)));  // unwritten
    Array<int> out(kThreads + 32);
    Call call;
    call.launch = {{1}, {kThreads + 32}};
    Recording recording({.hazards = true});
    launch(call, write_up_to, between, last);
    call.launch = {{1}, {kThreads}};
    launch(call, read_all, between, out.on_device());
    const Counts& counts = recording.counts();
    const bool is_beyond = last == kThreads;
    EXPECT_EQ(counts.is_cut_short, is_beyond);
    ASSERT_EQ(counts.findings.size(), last == kThreads - 1 ? 0u : 1u);
    if (!counts.findings.empty()) {
      EXPECT_EQ(counts.findings[0].kind, is_beyond ? finding_kind::out_of_bounds : finding_kind::uninitialized_global);
    }
    release_on_device(between);
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
  EXPECT_EQ(
      message,
      "divergent barrier: block (0, 0, 0), thread (40, 0, 0) waits for the block at emulator_block_test.cpp:" +
          std::to_string(kDivergentLine + 6) +
          "; thread (0, 0, 0) waits for the block at emulator_block_test.cpp:" + std::to_string(kDivergentLine + 2));
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
              "exception: block (7, 0, 0), thread (33, 0, 0): no such element");
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

__global__ void copy(const mem<float>* from, mem<float>* to) { to[threadIdx.x] = from[threadIdx.x]; }

TEST(EmulatorRuns, ARecordingAddsUpItsLaunches) {
  Array<float> from(32), to(32);
  Recording recording;
  Call call;
  call.launch = kOneWarp;
  for (int i = 0; i < 3; ++i) launch(call, copy, from.on_device(), to.on_device());
  EXPECT_EQ(recording.counts().load_requests, 3u);
  {
    const Recording inner;
    launch(call, copy, from.on_device(), to.on_device());
  }
  EXPECT_EQ(recording.counts().load_requests, 3u);
}

__global__ void take_turns(mem<int>* next, mem<int>* turns) {
  turns[blockIdx.x * blockDim.x + threadIdx.x] = next[0];
  next[0] += 1;
}

/// The position in the order of execution of each of 3 blocks' 80 threads.
std::vector<int> turns(const EmulatorOptions& options) {
  const int before = omp_get_max_threads();
  omp_set_num_threads(1);
  Array<int> next(1), turns(240);
  counted({{3}, {80}}, options, take_turns, next.on_device(), turns.on_device());
  omp_set_num_threads(before);
  return {&turns[0], &turns[239] + 1};
}

TEST(EmulatorRuns, ThreadsRunInTheOrderAskedFor) {
  std::vector<int> ascending(240);
  std::iota(ascending.begin(), ascending.end(), 0);
  EXPECT_EQ(turns({}), ascending);
  EXPECT_EQ(turns({.order = Order::reverse}), (std::vector<int>{ascending.rbegin(), ascending.rend()}));
  std::vector<int> random = turns({.order = Order::random, .seed = 1});
  EXPECT_EQ(turns({.order = Order::random, .seed = 1}), random);
  EXPECT_NE(turns({.order = Order::random, .seed = 2}), random);
  std::sort(random.begin(), random.end());
  EXPECT_EQ(random, ascending);
}

// ---- Blocks that wait for later ones ----

/// A ring of blocks: in each turn a block publishes the turn's number, and then waits for the block behind it.
__global__ void hand_round(volatile mem<int>* told, mem<int>* sums, int turns, int fails) {
  __shared__ mem<int> number;
  const int blocks = gridDim.x, behind = (blockIdx.x + 1) % blocks;
  int sum = 0;
  for (int turn = 1; turn <= turns; ++turn) {
    if (threadIdx.x == 0) {
      number = static_cast<int>(blockIdx.x) + turn;  // in shared memory of its own, whoever runs in between
      told[blockIdx.x] = turn;
      while (told[behind] < turn) {
      }
      sum += number;
    }
    __syncthreads();
    if (static_cast<int>(blockIdx.x) == fails) throw std::out_of_range("no such element");
  }
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

Counts counted_together(const Launch& shape, const EmulatorOptions& options, mem<int>* told, mem<int>* sums, int turns,
                        int fails = -1) {
  Recording recording(options);
  const Call call{.launch = shape};
  launch_together(call, hand_round, told, sums, turns, fails);
  return recording.counts();
}

TEST(EmulatorTogether, BlocksWaitForLaterOnesInEveryOrderOnAnyNumberOfOsThreads) {
  const int before = omp_get_max_threads();
  for (const int threads : {1, 4}) {
    omp_set_num_threads(threads);
    for (const unsigned blocks : {1u, 2u, 7u})
      for (const Order order : {Order::forward, Order::reverse, Order::random})
        for (const bool hazards : {false, true}) {
          Array<int> told(blocks), sums(blocks);
          const Counts n = counted_together({{blocks}, {40}}, {.order = order, .hazards = hazards}, told.on_device(),
                                            sums.on_device(), 5);
          for (unsigned i = 0; i < blocks; ++i) EXPECT_EQ(sums[i], static_cast<int>(5 * i + 15));
          EXPECT_TRUE(n.findings.empty()) << n.findings.front().text();
          EXPECT_EQ(n.barriers, blocks * 2u * 5);
        }
  }
  omp_set_num_threads(before);
}

TEST(EmulatorTogether, CountsAreTheSameInEveryRun) {
  std::vector<Counts> all;
  for (int repetition = 0; repetition < 3; ++repetition) {
    Array<int> told(6), sums(6);
    all.push_back(counted_together({{6}, {32}}, {}, told.on_device(), sums.on_device(), 4));
    EXPECT_EQ(all.back().bytes_loaded, all.front().bytes_loaded);
    EXPECT_EQ(all.back().accesses, all.front().accesses);
  }
}

TEST(EmulatorTogether, AFailureEndsTheBlocksThatWaitForIt) {
  for (const int fails : {0, 2, 3}) {
    Array<int> told(4), sums(4);
    try {
      counted_together({{4}, {64}}, {}, told.on_device(), sums.on_device(), 1000, fails);
      ADD_FAILURE() << "block " << fails << " has not failed";
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()),
                "exception: block (" + std::to_string(fails) + ", 0, 0), thread (0, 0, 0): no such element");
    }
  }
  Product64 product;  // afterwards the emulator is as good as new
  EXPECT_EQ(product.run<16>().op_per_byte_loaded(), 4);
  EXPECT_TRUE(product.is_right());
}

TEST(EmulatorTogether, MoreBlocksThanRunAtOnceAreRefused) {
  Array<int> told(513), sums(513);
  EXPECT_THROW(counted_together({{513}, {32}}, {}, told.on_device(), sums.on_device(), 1), Error);
}

// ---- Whole kernels ----

TEST(EmulatorRuns, AWrongResultIsJudgedWrong) {
  Kernel idle = find_kernel("gpu/matmul/naive");
  EXPECT_GT(count(point_of(idle, {{"n", 20}})).check.max_error_ratio, 0);  // rounding: the judge has looked
  idle.gpu.emulate = [](const Call&) {};
  EXPECT_FALSE(count(point_of(idle, {{"n", 20}})).check.passed());
  idle.gpu.emulate = [](const Call&) { throw Error("no such thing"); };
  EXPECT_THROW(count(point_of(idle, {{"n", 20}})), WrongResult);
}

TEST(EmulatorRuns, TheSuitesKernelsAreCountedAndJudged) {
  const auto [naive, check] = count(point_of(find_kernel("gpu/matmul/naive"), {{"n", 64}, {"block", 16}}));
  EXPECT_TRUE(check.passed()) << check.reason();
  EXPECT_EQ(naive.op_per_byte_loaded(), 0.25);
  EXPECT_EQ(naive.sectors_per_load_request(), 2);
  const CountedRun odd =
      count(point_of(find_kernel("gpu/matmul/naive"), {{"m", 33}, {"n", 7}, {"k", 51}}), {.order = Order::random});
  EXPECT_TRUE(odd.check.passed()) << odd.check.reason();
  EXPECT_EQ(odd.counts.op_per_byte_loaded(), 0.25);
  EXPECT_EQ(odd.counts.flops(), 2u * 33 * 7 * 51);
}

TEST(EmulatorRuns, ACaseThatCannotBeEmulatedIsRefusedByName) {
  const auto message = [](const std::string& kernel) -> std::string {
    try {
      count(point_of(find_kernel(kernel), {{"n", 8}}));
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_TRUE(contains(message("cpu/matmul/naive"), "cpu/matmul/naive: not emulated: not a GPU kernel"));
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
