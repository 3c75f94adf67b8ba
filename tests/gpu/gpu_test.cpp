/// The GPU as a target, and every GPU kernel of the registry on it. Without a GPU these tests are skipped, with the
/// reason, except for tests of parts that need none.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>

#include "common/harness/workload.hpp"
#include "common/machine/device_facts.hpp"
#include "common/machine/target.hpp"
#include "common/problem/matmul.hpp"
#include "gpu/host/nvml.hpp"
#include "gpu/simt/cublas.hpp"
#include "tests/every_kernel.hpp"

namespace rung {
namespace {

constexpr std::uint64_t kSeed = 20260101;

GpuTarget& the_gpu() {
  static auto* const gpu = new GpuTarget(open_gpu(0));  // never freed: CUDA may have ended before a static would be
  return *gpu;
}

/// Everything here needs a GPU.
class Gpu : public testing::Test {
 protected:
  void SetUp() override {
    if (!the_gpu().target) GTEST_SKIP() << the_gpu().unavailable;
  }
  static Target& gpu() { return *the_gpu().target; }
};

Call call_of(const Kernel& kernel, const Params& sizes, const Params& tunables = {}) {
  Call call{.params = problem_of(kernel).complete(sizes)};
  for (const auto& [name, value] : with_tunables(kernel, tunables)) call.params.set(name, value);
  if (kernel.gpu.launch) call.launch = kernel.gpu.launch(call.params);
  return call;
}

/// A kernel with its operands on the GPU, filled with random inputs.
struct Prepared {
  const Kernel& kernel;
  const Problem& problem;
  Call call;
  Workload work;
  Prepared(Target& target, const Kernel& kernel, const Params& sizes, const Params& tunables = {})
      : kernel(kernel),
        problem(problem_of(kernel)),
        call(call_of(kernel, sizes, tunables)),
        work(target, kernel, problem, call) {
    const Check check = work.verify(HostInputs(problem, problem.complete(sizes), problem.timed_data(), kSeed));
    if (!check.passed()) throw Error(kernel.name + ": " + check.reason());
  }
  Prepared(Target& target, const std::string& name, const Params& sizes) : Prepared(target, find_kernel(name), sizes) {}
};

// --- every kernel is right --------------------------------------------------------------------------------------

std::vector<const Kernel*> gpu_kernels() { return match_kernels("gpu/*"); }

class EveryGpuKernel : public testing::TestWithParam<const Kernel*> {};

/// Further sizes for any problem whose sizes are numbers, most of them awkward: the first size from one list, all
/// others from another or equal to it, without sizes that are for some kernels only. Sizes that the problem or the
/// kernel refuses, or that take long, are left out.
std::vector<Point> awkward_cases(const Kernel& kernel, const Params& tunables) {
  const Problem& problem = problem_of(kernel);
  std::vector<Point> accepted;
  const auto is_left_out = [&](const std::string& size) {
    return std::count(problem.general_names.begin(), problem.general_names.end(), size) > 0 ||
           std::count(problem.special_names.begin(), problem.special_names.end(), size) > 0;
  };
  for (const auto& [size, words] : problem.size_words)
    if (!is_left_out(size)) return accepted;
  for (const std::int64_t first : {1,   2,   3,   15,  16,  17,  31,  32,   33,   63,   64,   65,    127,
                                   128, 129, 255, 256, 257, 509, 768, 1000, 1024, 4096, 5001, 65792, 1 << 20})
    for (const std::int64_t other : {0, 1, 3, 48, 333}) {
      Params given = tunables;
      for (const std::string& size : problem.size_names)
        if (!is_left_out(size)) given.set(size, size == problem.size_names[0] || other == 0 ? first : other);
      try {
        Point point = point_of(kernel, given);
        const Params all = point.params();
        const bool small = problem.flops(all) <= 4e9 && workload_bytes(kernel, problem, all) <= std::size_t{64} << 20;
        if (small && refusal(kernel, all).empty()) accepted.push_back(std::move(point));
      } catch (const Error&) {  // not a size of this problem
      }
    }
  return accepted;
}

TEST_P(EveryGpuKernel, IsRightAtAwkwardSizes) {
  if (!the_gpu().target) GTEST_SKIP() << the_gpu().unavailable;
  Target& gpu = *the_gpu().target;
  const Kernel& kernel = *GetParam();
  static auto* const inputs = new InputCache(std::size_t{512} << 20);
  std::vector<Point> all = cases_of(kernel);
  for (const Params& tunables : variants_of(kernel))
    for (Point& point : awkward_cases(kernel, tunables)) all.push_back(std::move(point));
  ASSERT_FALSE(all.empty()) << kernel.name << " takes none of the sizes";
  std::size_t refused = 0;
  for (const Point& point : all) {
    Call call{.params = point.params()};
    if (kernel.gpu.launch) call.launch = kernel.gpu.launch(call.params);
    if (const std::string reason = gpu.refuse(kernel, call); !reason.empty()) GTEST_SKIP() << reason;
    Workload work(gpu, kernel, *point.problem, call);
    try {
      for (const DataSet& data : point.problem->data) {
        const Check check = work.verify(*inputs->get(*point.problem, point.sizes, data, kSeed));
        ASSERT_TRUE(check.passed()) << point.name() << " on " << data.name << ": " << check.reason();
      }
    } catch (const LaunchRefused& why) {
      ASSERT_TRUE(kernel.is_library) << point.name() << ": " << why.what();  // only these refuse at the launch
      ++refused;
    }
  }
  EXPECT_LT(refused, all.size()) << kernel.name << " has computed none of the sizes";
}

/// Products with leading dimensions, factors and shifts: rows that begin at multiples of 16 bytes and rows that do not,
/// in one matrix and in all; C read and not; A and B not read; one row, one column, one step in k.
std::vector<Params> general_products(MatmulLayout layout) {
  std::vector<Params> all;
  for (const auto& [m, n, k] : {std::array{129, 257, 33},
                                {300, 310, 515},
                                {1, 300, 500},
                                {300, 1, 511},
                                {64, 64, 4000},
                                {517, 1031, 1},
                                {1003, 1037, 260}}) {
    const Params shape{{"m", m}, {"n", n}, {"k", k}, {"layout", layout_value(layout)}};
    const int row_of_a = has_a_by_columns(layout) ? m : k, row_of_b = has_b_by_columns(layout) ? k : n;
    for (const Params& more :
         {Params{{"alpha", -1}, {"beta", 2}}, Params{{"alpha", 0}, {"beta", -3}}, Params{{"alpha", 0}, {"beta", 0}},
          Params{{"lda", row_of_a + 3}, {"ldb", row_of_b + 8}, {"ldc", n + 5}, {"beta", 1}},
          Params{
              {"lda", (row_of_a + 7) / 4 * 4}, {"ldb", (row_of_b + 7) / 4 * 4}, {"ldc", (n + 7) / 4 * 4}, {"alpha", 2}},
          Params{{"shift", 1}, {"beta", 1}}, Params{{"shift", 4}}, Params{{"shift", 63}, {"ldb", row_of_b + 1}}}) {
      all.push_back(shape);
      for (const auto& [name, value] : more) all.back().set(name, value);
    }
  }
  return all;
}

TEST_P(EveryGpuKernel, TakesGeneralProducts) {
  if (!the_gpu().target) GTEST_SKIP() << the_gpu().unavailable;
  const Kernel& kernel = *GetParam();
  if (!kernel.is_general || kernel.family() != "matmul") GTEST_SKIP() << "takes whole matrices only";
  Target& gpu = *the_gpu().target;
  const Problem& problem = problem_of(kernel);
  std::vector<Params> products = general_products(usual_layout(kernel.type));
  if (!kernel.takes.empty())
    for (const MatmulLayout layout : {MatmulLayout::nn, MatmulLayout::nt, MatmulLayout::tn})
      for (const Params& product : general_products(layout)) products.push_back(product);
  for (const Params& tunables : variants_of(kernel))
    for (const Params& given : products) {
      const Params sizes = problem.complete(given);
      Params all = sizes;
      for (const auto& [name, value] : tunables) all.set(name, value);
      // Some shapes are for plain products, but what a kernel chooses by itself takes every one.
      if (tunables != with_tunables(kernel, {}) && !refusal(kernel, all).empty()) continue;
      const Call call = call_of(kernel, given, tunables);
      ASSERT_EQ(gpu.refuse(kernel, call), "") << call.params.text();
      Workload work(gpu, kernel, problem, call);
      for (const DataSet& fill : problem.data) {
        const Check check = work.verify(HostInputs(problem, sizes, fill, kSeed));
        ASSERT_TRUE(check.passed()) << kernel.name << "/" << call.params.text() << ": " << check.failure
                                    << ", error ratio " << check.max_error_ratio;
      }
    }
}

TEST_P(EveryGpuKernel, TellsItsResources) {
  if (!the_gpu().target) GTEST_SKIP() << the_gpu().unavailable;
  const Kernel& kernel = *GetParam();
  if (!kernel.gpu.launch) GTEST_SKIP() << "a library's launches are its own";
  for (const Point& point : cases_of(kernel)) {
    const Prepared prepared(*the_gpu().target, kernel, point.sizes, point.tunables);
    const Call& call = prepared.work.call();
    const auto resources = the_gpu().target->resources(kernel, call);
    ASSERT_TRUE(resources);
    EXPECT_GT(resources->registers_per_thread, 0);
    EXPECT_GE(resources->blocks_per_sm, 1);
    EXPECT_LE(resources->blocks_per_sm * call.launch.block.count(), 2048u);
  }
}

TEST_P(EveryGpuKernel, HasACompleteRecord) {
  const Kernel& kernel = *GetParam();
  EXPECT_FALSE(kernel.title.empty());
  EXPECT_TRUE(kernel.idea.ends_with("."));
  EXPECT_FALSE(kernel.source.empty());
  EXPECT_EQ(static_cast<bool>(kernel.gpu.launch), !kernel.is_library);
  EXPECT_EQ(static_cast<bool>(kernel.gpu.requested), !kernel.is_library);
  if (!kernel.sizes) return;
  const Params sizes = problem_of(kernel).complete(kernel.sizes());
  for (const Params& tunables : variants_of(kernel))
    EXPECT_EQ(refusal(kernel, call_of(kernel, sizes, tunables).params), "");
}

INSTANTIATE_TEST_SUITE_P(Registry, EveryGpuKernel, testing::ValuesIn(gpu_kernels()), test_name);

// --- the device ---------------------------------------------------------------------------------------------------

TEST_F(Gpu, SharedMemoryOfATileIsCounted) {
  const Kernel& tiled = find_kernel("gpu/matmul/tiled");
  for (const std::int64_t tile : {8, 16, 32}) {
    const Prepared prepared(gpu(), tiled, {{"n", 64}}, {{"tile", tile}});
    const auto resources = gpu().resources(tiled, prepared.work.call());
    EXPECT_EQ(resources->static_shared_bytes, static_cast<std::size_t>(2 * tile * tile * 4));
  }
}

TEST_F(Gpu, DynamicSharedMemoryLimitsResidentBlocks) {
  Prepared naive(gpu(), "gpu/matmul/naive", {{"n", 64}});
  const int unlimited = gpu().resources(naive.kernel, naive.work.call())->blocks_per_sm;
  Call call = naive.work.call();
  call.launch.dynamic_shared_bytes = 60 << 10;  // more than a kernel gets by default
  ASSERT_EQ(gpu().refuse(naive.kernel, call), "");
  const int limited = gpu().resources(naive.kernel, call)->blocks_per_sm;
  EXPECT_LT(limited, unlimited);
  EXPECT_GE(limited, 1);
  gpu().run(naive.kernel, call);
}

TEST_F(Gpu, ALaunchThatCannotBeIsRefusedAndFailsCleanly) {
  Prepared naive(gpu(), "gpu/matmul/naive", {{"n", 64}});
  const auto message = [&](const Call& call) -> std::string {
    try {
      gpu().run(naive.kernel, call);
    } catch (const DeviceLost& lost) {
      return std::string("lost: ") + lost.what();
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  Call threads = naive.work.call();
  threads.launch.block = {64, 64};
  EXPECT_NE(gpu().refuse(naive.kernel, threads).find("4096 threads"), std::string::npos);
  EXPECT_TRUE(message(threads).starts_with("no block of 4096 threads")) << message(threads);

  Call shared = naive.work.call();
  shared.launch.dynamic_shared_bytes = 10 << 20;
  EXPECT_NE(gpu().refuse(naive.kernel, shared).find("shared memory"), std::string::npos);
  EXPECT_TRUE(message(shared).starts_with("launch failed: ")) << message(shared);

  Call grid = naive.work.call();
  grid.launch.grid.y = 70000;
  EXPECT_NE(gpu().refuse(naive.kernel, grid).find("grid"), std::string::npos);

  EXPECT_EQ(message(naive.work.call()), "");  // none of this has hurt the device
}

TEST_F(Gpu, TooMuchMemoryIsAnErrorAndNoMore) {
  try {
    gpu().allocate(std::size_t{1} << 50);
    FAIL() << "2^50 bytes were allocated";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("out of GPU memory"), std::string::npos) << error.what();
  }
  void* memory = gpu().allocate(1 << 20);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % 256, 0u);
  gpu().release(memory);
}

/// Few bytes, and more than the two chunks of a staged copy, with a part of a third.
TEST_F(Gpu, BytesComeBackAsTheyWent) {
  for (const std::size_t words : {std::size_t{1}, std::size_t{1} << 16, (std::size_t{9} << 20) + 3}) {
    std::vector<std::uint64_t> there(words), back(words);
    for (std::size_t i = 0; i < words; ++i) there[i] = random_bits(kSeed, i);
    const std::size_t bytes = words * sizeof there[0];
    void* memory = gpu().allocate(bytes);
    gpu().upload(memory, there.data(), bytes);
    gpu().download(back.data(), memory, bytes);
    EXPECT_EQ(there, back);
    EXPECT_TRUE(gpu().holds(memory, there.data(), bytes));
    for (const std::size_t word : {std::size_t{0}, words / 2, words - 1}) {
      there[word] ^= 1;
      EXPECT_FALSE(gpu().holds(memory, there.data(), bytes)) << word;
      there[word] ^= 1;
    }
    gpu().poison(memory, bytes, kPoisonByte);
    gpu().download(back.data(), memory, bytes);
    EXPECT_EQ(back, std::vector<std::uint64_t>(words, ~std::uint64_t{0}));
    gpu().release(memory);
  }
}

TEST_F(Gpu, MoreRunsTakeLonger) {
  Prepared naive(gpu(), "gpu/matmul/naive", {{"n", 512}});
  const double one = gpu().time(naive.kernel, naive.work.call(), 1, Mode::hot);
  const double ten = gpu().time(naive.kernel, naive.work.call(), 10, Mode::hot);
  EXPECT_GT(ten, 3 * one);
  EXPECT_LT(ten, 30 * one);
  EXPECT_LE(gpu().resolved_seconds(), 1e-3);
}

TEST_F(Gpu, AFlushedCacheIsSlower) {
  const std::int64_t bytes = gpu_facts().l2_bytes / 8 / 4096 * 4096;
  Prepared read(gpu(), "gpu/read/dram", {{"bytes", bytes}, {"passes", 1}});
  const double hot = gpu().time(read.kernel, read.work.call(), 200, Mode::hot) / 200;
  const double cold = gpu().time(read.kernel, read.work.call(), 100, Mode::cold) / 100;
  EXPECT_GE(cold, hot);
}

TEST_F(Gpu, TransfersTakeTime) {
  const auto small = gpu().transfer_seconds(1 << 20, 1 << 20);
  const auto large = gpu().transfer_seconds(300 << 20, 100 << 20);  // more than the pinned chunk
  if (!small || !large) GTEST_SKIP() << "no pinned memory here";
  EXPECT_GT(*small, 0);
  EXPECT_GT(*large, 20 * *small);
}

TEST_F(Gpu, ContextDescribesTheDevice) {
  const nlohmann::json context = gpu().context();
  for (const char* key : {"gpu_name",
                          "gpu_sm_count",
                          "gpu_clock_khz",
                          "gpu_mem_clock_khz",
                          "gpu_mem_bus_width_bits",
                          "gpu_l2_bytes",
                          "gpu_compute_capability_major",
                          "gpu_compute_capability_minor",
                          "gpu_memory_bytes",
                          "gpu_shared_bytes_per_sm",
                          "gpu_threads_per_sm",
                          "gpu_threads_per_block",
                          "gpu_block_x",
                          "gpu_block_y",
                          "gpu_block_z",
                          "gpu_grid_x",
                          "gpu_grid_y",
                          "gpu_grid_z",
                          "gpu_warp_size",
                          "gpu_constant_bytes",
                          "gpu_kernel_timeout",
                          "gpu_uuid",
                          "gpu_driver",
                          "gpu_cuda_driver",
                          "gpu_cuda_runtime",
                          "gpu_cublas_version",
                          "gpu_ecc"})
    EXPECT_TRUE(context.contains(key)) << key;
  EXPECT_EQ(context["gpu_sm_count"], gpu_facts().sm_count);
  EXPECT_EQ(context["gpu_l2_bytes"], gpu_facts().l2_bytes);
  EXPECT_GT(context["gpu_clock_khz"], 100'000);
  EXPECT_EQ(context["gpu_uuid"].get<std::string>().size(), std::string("GPU-").size() + 36);
  EXPECT_LE(gpu().free_bytes(), context["gpu_memory_bytes"].get<std::size_t>());
}

TEST_F(Gpu, ClockIsThatOfTheTimedInterval) {
  Prepared naive(gpu(), "gpu/matmul/naive", {{"n", 512}});
  for (const Mode mode : {Mode::hot, Mode::cold}) {
    const double seconds = gpu().time(naive.kernel, naive.call, 40, mode);
    const std::optional<double> mhz = gpu().state().clock_mhz;
    ASSERT_TRUE(mhz) << seconds << " s";
    EXPECT_GT(*mhz, 200);
    EXPECT_LT(*mhz, 1.02e-3 * gpu().context()["gpu_clock_khz"].get<double>());
  }
  Prepared tiny(gpu(), "gpu/matmul/naive", {{"n", 16}});
  gpu().time(tiny.kernel, tiny.call, 1, Mode::hot);
  EXPECT_FALSE(gpu().state().clock_mhz) << "too short for the GPU's timer";
}

/// In a process of its own, since the error outlives the launch.
TEST(GpuDeathTest, AnIllegalAddressLosesTheDevice) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  if (!the_gpu().target) GTEST_SKIP() << the_gpu().unavailable;
  const auto run_wild = [] {
    Target& gpu = *the_gpu().target;
    const Kernel& naive = find_kernel("gpu/matmul/naive");
    Call call = call_of(naive, {{"n", 64}});
    call.operands.assign(3, reinterpret_cast<void*>(std::uintptr_t{4096}));
    for (int attempt = 0; attempt < 2; ++attempt) {  // the second finds the device lost already
      try {
        gpu.run(naive, call);
        _exit(1);
      } catch (const DeviceLost& lost) {
        std::cerr << lost.what() << "\n";
      }
    }
    _exit(0);
  };
  EXPECT_EXIT(run_wild(), testing::ExitedWithCode(0), "failed while running: .*cudaErrorIllegalAddress");
}

// --- no GPU needed ------------------------------------------------------------------------------------------------

TEST(NoGpu, AHiddenGpuIsAReasonAndNoFailure) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto open_hidden = [] {
    setenv("CUDA_VISIBLE_DEVICES", "", 1);
    const GpuTarget gpu = open_gpu(0);
    std::cerr << gpu.unavailable << "\n";
    _exit(gpu.target || gpu.unavailable.empty() ? 1 : 0);
  };
  EXPECT_EXIT(open_hidden(), testing::ExitedWithCode(0), "CUDA|driver");
}

TEST(NoGpu, ADeviceThatIsNotThereIsAReason) {
  const GpuTarget gpu = open_gpu(1000);
  EXPECT_FALSE(gpu.target);
  EXPECT_FALSE(gpu.unavailable.empty());
}

TEST(NoGpu, ThrottlingInWords) {
  EXPECT_EQ(throttle_reasons(0), "");
  EXPECT_EQ(throttle_reasons(0x1), "") << "idle";
  EXPECT_EQ(throttle_reasons(0x2), "") << "clocks set by the user";
  EXPECT_EQ(throttle_reasons(0x4), "power cap");
  EXPECT_EQ(throttle_reasons(0x4 | 0x20 | 0x1), "power cap, thermal");
  EXPECT_NE(throttle_reasons(0x8), "");
}

TEST(ShareOfOthers, IsKnownWhereTheDriverKnowsThisProcess) {
  EXPECT_EQ(share_of_others({{7, 50}, {7, 30}, {9, 100}}, 9), 0.4);
  EXPECT_EQ(share_of_others({{9, 100}}, 9), 0);
  EXPECT_FALSE(share_of_others({{7, 50}}, 9)) << "its own use would be taken for another one's";
  EXPECT_FALSE(share_of_others({}, 9));
}

TEST(NoGpu, NvmlWithoutItsDeviceTellsNothing) {
  const Nvml none("no such bus");
  EXPECT_FALSE(none.power_limit_w());
  EXPECT_EQ(none.throttled(), "");
}

}  // namespace
}  // namespace rung
