/// The models against the textbooks' hand-worked numbers, against NVIDIA's own calculator where its header is
/// installed, and against the answers of the CUDA occupancy API on a real GPU.
#include <gtest/gtest.h>

#include <cctype>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "common/harness/sources.hpp"
#include "common/model/bound.hpp"
#include "common/model/devices.hpp"
#include "common/model/next_step.hpp"
#include "common/model/occupancy.hpp"
#include "common/registry.hpp"
#include "common/source_dir.hpp"

#if __has_include(<cuda_occupancy.h>)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wsign-compare"
#include <cuda_occupancy.h>
#pragma GCC diagnostic pop
#define RUNG_HAS_ORACLE 1
#endif

namespace rung {
namespace {

constexpr int kKiB = 1024;

/// The message of the Error that `action` throws; empty if it throws none.
template <typename Action>
std::string error_of(Action action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

SmLimits limits_of(const char* device) {
  const Device& d = find_device(device);
  return sm_limits(d.major, d.minor);
}

// --- bound -----------------------------------------------------------------------------------------------------------

TEST(Bound, NaiveMatmulOnA100) {  // PMPP 4e §5.1: 389 GFLOPS
  const Bound b = bound(find_device("A100"), matmul_op_per_byte(1));
  EXPECT_DOUBLE_EQ(matmul_op_per_byte(1), 0.25);
  EXPECT_DOUBLE_EQ(b.gflops, 388.75);
  EXPECT_NEAR(b.fraction_of_peak, 0.02, 0.0005);
  EXPECT_TRUE(b.memory_bound);
}

TEST(Bound, TiledMatmulOnA100) {  // PMPP 4e §5.4: 6220 GFLOPS, 32 % of 19 500
  const Bound b = bound(find_device("A100"), matmul_op_per_byte(16));
  EXPECT_DOUBLE_EQ(matmul_op_per_byte(16), 4);
  EXPECT_DOUBLE_EQ(b.gflops, 6220);
  EXPECT_NEAR(100 * b.fraction_of_peak, 32, 0.2);
}

TEST(Bound, G80) {  // Zhou 2015, ITB 2022: 86.4 GB/s give 21.6 GFLOPS; with 16x16 tiles 345.6
  EXPECT_DOUBLE_EQ(bound(find_device("G80"), 0.25).gflops, 21.6);
  EXPECT_NEAR(bound(find_device("G80"), 4).gflops, 345.6, 1e-9);
}

TEST(Bound, K40) {  // Zhou 2015: 288 GB/s give 72 GFLOPS; 5000 would need 20 000 GB/s
  EXPECT_DOUBLE_EQ(bound(find_device("K40"), 0.25).gflops, 72);
  EXPECT_DOUBLE_EQ(required_gbytes_per_s(5000, 0.25), 20000);
}

TEST(Bound, MeetsThePeakAtTheRidge) {
  for (const Device& d : devices()) {
    const double ridge = ridge_op_per_byte(d.peak_fp32_gflops, d.dram_gbytes_per_s);
    EXPECT_TRUE(bound(d, 0.99 * ridge).memory_bound) << d.name;
    EXPECT_FALSE(bound(d, 1.01 * ridge).memory_bound) << d.name;
    EXPECT_DOUBLE_EQ(bound(d, 1.01 * ridge).gflops, d.peak_fp32_gflops) << d.name;
    EXPECT_NEAR(bound(d, 0.5 * ridge).fraction_of_peak, 0.5, 1e-12) << d.name;
  }
}

TEST(Bound, RefusesSenselessNumbers) {
  EXPECT_DOUBLE_EQ(attainable_gflops(100, 10, 0), 0);
  EXPECT_TRUE(has(error_of([] { attainable_gflops(100, 10, -1); }), "-1"));
  EXPECT_TRUE(has(error_of([] { attainable_gflops(100, 10, std::nan("")); }), "OP/B"));
  EXPECT_TRUE(has(error_of([] { attainable_gflops(100, 10, INFINITY); }), "inf"));
  EXPECT_TRUE(has(error_of([] { attainable_gflops(0, 10, 1); }), "peak"));
  EXPECT_TRUE(has(error_of([] { attainable_gflops(100, std::nan(""), 1); }), "bandwidth"));
  EXPECT_TRUE(has(error_of([] { ridge_op_per_byte(100, 0); }), "bandwidth"));
  EXPECT_TRUE(has(error_of([] { required_gbytes_per_s(100, 0); }), "ratio"));
  EXPECT_TRUE(has(error_of([] { matmul_op_per_byte(0); }), "tile"));
}

// --- devices ---------------------------------------------------------------------------------------------------------

TEST(Devices, FoundHoweverTheyAreWritten) {
  for (const char* name : {"RTX 3080", "rtx3080", "rtx-3080", "3080", "GeForce RTX 3080", "NVIDIA GeForce RTX 3080"})
    EXPECT_EQ(find_device(name).name, "RTX 3080") << name;
  EXPECT_EQ(find_device("a100").dram_gbytes_per_s, 1555);
  EXPECT_EQ(find_device("a100 80gb").dram_gbytes_per_s, 2039);
  EXPECT_EQ(find_device("g80").name, find_device("8800gtx").name);
  EXPECT_EQ(find_device("gt200").name, find_device("GTX 280").name);
  EXPECT_EQ(find_device("k620").name, "Quadro K620");
}

TEST(Devices, UnknownNamesGetTheNearest) {
  EXPECT_TRUE(has(error_of([] { find_device("RTX 3070"); }), "did you mean 'RTX 3080'?"));
  EXPECT_TRUE(has(error_of([] { find_device("H20O"); }), "did you mean 'H200'?"));
  EXPECT_TRUE(has(error_of([] { find_device("RTX 3070"); }), "'RTX 3070'"));
  const std::string far = error_of([] { find_device("Radeon Instinct MI300X"); });
  EXPECT_TRUE(has(far, "not in the catalogue")) << far;
  EXPECT_FALSE(has(far, "did you mean")) << far;
  for (const char* nothing : {"", "   ", "NVIDIA", "--", "RTX", "A", "100", "A100 8"})
    EXPECT_TRUE(has(error_of([&] { find_device(nothing); }), "not in the catalogue")) << nothing;
}

TEST(Devices, MatchedByTheNameThatCudaReports) {
  const auto matched = [](const char* name) {
    const Device* device = match_device(name);
    return device ? std::string(device->name) : "none";
  };
  EXPECT_EQ(matched("NVIDIA H200"), "H200");
  EXPECT_EQ(matched("NVIDIA H100 80GB HBM3"), "H100 SXM");
  EXPECT_EQ(matched("NVIDIA H100 PCIe"), "H100 PCIe");
  EXPECT_EQ(matched("NVIDIA A100-SXM4-40GB"), "A100");
  EXPECT_EQ(matched("NVIDIA A100-SXM4-80GB"), "A100 80GB");
  EXPECT_EQ(matched("NVIDIA A100 80GB PCIe"), "A100 80GB PCIe");
  EXPECT_EQ(matched("Tesla K40m"), "K40");
  EXPECT_EQ(matched("Tesla V100-SXM2-32GB"), "V100 32GB");
  EXPECT_EQ(matched("NVIDIA GeForce RTX 3080"), "RTX 3080");
  // Variants with other limits: a wrong ceiling would be worse than none.
  for (const char* other : {"NVIDIA H200 NVL", "NVIDIA GeForce RTX 3080 Ti", "NVIDIA GeForce RTX 3080 Laptop GPU",
                            "NVIDIA GH200 480GB", "NVIDIA H100 NVL", "Radeon", ""})
    EXPECT_EQ(matched(other), "none") << other;
}

TEST(Devices, NoNameBelongsToTwo) {
  for (const Device& d : devices()) {
    EXPECT_EQ(&find_device(d.name), &d) << d.name;
    for (const std::string_view alias : d.aliases)
      EXPECT_TRUE(alias.empty() || &find_device(alias) == &d) << d.name << ": " << alias;
  }
}

/// FP32 units of one SM; a second source for the catalogue's peaks.
int fp32_units(int major, int minor) {
  switch (major) {
    case 1:
      return 8;
    case 2:
      return minor == 0 ? 32 : 48;
    case 3:
      return 192;
    case 5:
      return 128;
    case 6:
      return minor == 0 ? 64 : 128;
    case 7:
      return 64;
    case 8:
      return minor == 0 ? 64 : 128;
    default:
      return 128;
  }
}

TEST(Devices, PeaksFollowFromUnitsAndClock) {
  for (const Device& d : devices()) {
    const double computed = 2e-3 * fp32_units(d.major, d.minor) * d.sm_count * d.boost_mhz;
    EXPECT_NEAR(d.peak_fp32_gflops / computed, 1, 0.01) << d.name << ": " << computed;
    EXPECT_EQ(sm_limits(d.major, d.minor).fp32_units, fp32_units(d.major, d.minor)) << d.name;
  }
}

TEST(Devices, EntriesAreComplete) {
  for (const Device& d : devices()) {
    EXPECT_GE(d.dram_gbytes_per_s, 20) << d.name;
    EXPECT_GE(d.dram_bytes, std::size_t{512} << 20) << d.name;
    EXPECT_EQ(d.l2_bytes == 0, d.major == 1) << d.name;
    for (std::size_t i = 0; i < d.sources.size(); ++i)
      EXPECT_TRUE(d.sources[i].id.empty() ? i > 0 : sources().contains(std::string(d.sources[i].id)))
          << d.name << " cites '" << d.sources[i].id << "', which is no entry of experiments/sources.toml";
    for (const char* kind : {"fp16", "tf32", "bf16", "fp8"})  // of the others some are published nowhere
      EXPECT_TRUE(peak_gflops(d, kind)) << d.name << ": give its peak " << kind << ", 0 if it has no such units";
    EXPECT_EQ(error_of([&] { sm_limits(d.major, d.minor); }), "") << d.name;
  }
}

/// The most FP16 operations per clock of the tensor units of one SM, with sums in FP32; 0 without tensor units.
int tensor_fp16(const Device& d) {
  const bool is_geforce = d.name.starts_with("RTX");  // half the rate where sums are of 32 bits
  switch (10 * d.major + d.minor) {
    case 70:
    case 75:
    case 89:
      return is_geforce ? 512 : 1024;
    case 80:
      return 2048;
    case 86:
    case 120:
      return 512;
    case 90:
      return 4096;
    case 100:
      return 8192;
    default:
      return 0;
  }
}

TEST(Devices, TensorPeaksAreDenseAndFollowFromUnitsAndClock) {
  for (const Device& d : devices()) {
    // Under load some run their tensor units at a lower clock than boost; a sparse rate would be twice this.
    const double computed = 1e-3 * tensor_fp16(d) * d.sm_count * d.boost_mhz;
    const double fp16 = peak_gflops(d, "fp16").value_or(0);  // EntriesAreComplete says which are not known
    EXPECT_LE(fp16, 1.03 * computed) << d.name;
    EXPECT_GE(fp16, 0.9 * computed) << d.name;
    for (const auto& [kind, times] : {std::pair{"tf32", 0.5}, {"bf16", 1.0}, {"fp8", 2.0}}) {
      const double peak = peak_gflops(d, kind).value_or(0);
      EXPECT_TRUE(peak == 0 || std::abs(peak / fp16 - times) < 0.02 * times) << d.name << ' ' << kind;
    }
  }
}

TEST(Devices, DifferencesFromTheDriverAreSaid) {
  const Device& h200 = find_device("H200");
  DriverFacts driver{.name = "NVIDIA H200",
                     .major = 9,
                     .minor = 0,
                     .sm_count = 132,
                     .l2_bytes = 60 << 20,
                     .dram_bytes = 150109880320,
                     .boost_mhz = 1980,
                     .dram_gbytes_per_s = 4814.3,
                     .shared_per_sm = 228 * kKiB,
                     .shared_per_block_optin = 227 * kKiB};
  EXPECT_TRUE(differences(h200, driver).empty());
  driver.sm_count = 114;
  driver.l2_bytes = 50 << 20;
  const std::vector<std::string> said = differences(h200, driver);
  ASSERT_EQ(said.size(), 2u);
  EXPECT_EQ(said[0], "SMs: 132 in the catalogue, 114 by the driver");
  EXPECT_TRUE(has(said[1], "L2: 60 MiB"));
}

TEST(Devices, PeaksByKind) {
  EXPECT_EQ(peak_gflops(find_device("A100"), "TF32"), 156000);
  EXPECT_EQ(peak_gflops(find_device("V100"), "bf16"), 0);
  EXPECT_TRUE(has(error_of([] { peak_kind("fp12"); }), "fp8, int8"));
}

// --- occupancy: the documents' numbers -------------------------------------------------------------------------------

TEST(Occupancy, G80Registers) {  // Zhou 2015: 8K registers, 768 threads
  const SmLimits g80 = limits_of("G80");
  EXPECT_EQ(g80.registers_per_sm / g80.threads_per_sm, 10);
  const Occupancy ten = occupancy(g80, {.threads = 256, .registers_per_thread = 10});
  EXPECT_EQ(ten.blocks_per_sm, 3);
  EXPECT_DOUBLE_EQ(ten.fraction(), 1);
  const Occupancy eleven = occupancy(g80, {.threads = 256, .registers_per_thread = 11});
  EXPECT_EQ(eleven.blocks_per_sm, 2);
  EXPECT_EQ(eleven.warps, 16);
  EXPECT_EQ(eleven.limiter, "registers");
}

TEST(Occupancy, G80SharedMemory) {  // Zhou 2015: 16 KB for 8 blocks are 2 KB each; at 5 KB, 3 blocks
  const SmLimits g80 = limits_of("G80");
  EXPECT_EQ(g80.shared_per_sm / g80.blocks_per_sm, 2 * kKiB);
  const Occupancy two = occupancy(g80, {.threads = 64, .registers_per_thread = 8, .shared_bytes = 2 * kKiB});
  EXPECT_EQ(two.blocks_per_sm, 8);
  EXPECT_EQ(two.limiter, "blocks and shared memory");
  const Occupancy five = occupancy(g80, {.threads = 64, .registers_per_thread = 8, .shared_bytes = 5 * kKiB});
  EXPECT_EQ(five.blocks_per_sm, 3);
  EXPECT_EQ(five.limiter, "shared memory");
}

TEST(Occupancy, TileWidth) {  // Zhou 2015: 16 uses 2 KB; 32 is too many threads on G80, not on Fermi
  const auto tile = [](int t) { return BlockNeeds{.threads = t * t, .shared_bytes = 2 * t * t * 4}; };
  EXPECT_EQ(tile(16).shared_bytes, 2 * kKiB);
  EXPECT_TRUE(occupancy(limits_of("G80"), tile(16)).runs());
  const Occupancy g80 = occupancy(limits_of("G80"), tile(32));
  EXPECT_EQ(g80.blocks_per_sm, 0);
  EXPECT_EQ(g80.limiter, "threads");
  EXPECT_EQ(g80.reason, "1024 threads in a block, the limit is 512");
  EXPECT_FALSE(occupancy(limits_of("GT200"), tile(32)).runs());
  EXPECT_EQ(occupancy(limits_of("GTX 480"), tile(32)).blocks_per_sm, 1);
}

TEST(Occupancy, KeplerAndMaxwell) {  // Zhou 2015: 2048 threads, 64K registers; Maxwell 32 blocks and (5.2) 96 KB
  for (const auto& [major, minor] : {std::pair{3, 5}, {5, 0}, {5, 2}}) {
    EXPECT_EQ(sm_limits(major, minor).threads_per_sm, 2048);
    EXPECT_EQ(sm_limits(major, minor).registers_per_sm, 64 * kKiB);
  }
  EXPECT_EQ(sm_limits(5, 2).blocks_per_sm, 32);
  EXPECT_EQ(sm_limits(5, 2).shared_per_sm, 96 * kKiB);
}

TEST(Occupancy, A100SharedMemoryPerThread) {  // PMPP 4e §5.6: 82 B a thread; the tiled kernel's 8 B do not limit it
  const SmLimits a100 = limits_of("A100");
  EXPECT_EQ(a100.shared_per_sm, 164 * kKiB);
  EXPECT_EQ(a100.shared_per_sm / a100.threads_per_sm, 82);
  const Occupancy tiled = occupancy(a100, {.threads = 256, .registers_per_thread = 32, .shared_bytes = 256 * 8});
  EXPECT_DOUBLE_EQ(tiled.fraction(), 1);
}

TEST(Occupancy, A100With32KiBBlocks) {
  // PMPP 4e §5.6: 62 % for blocks of 256 threads. In whole blocks that is 5 x 256 / 2048 = 62.5 %...
  SmLimits as_in_the_book = limits_of("A100");
  as_in_the_book.shared_reserved = 0;
  const BlockNeeds block = {.threads = 256, .registers_per_thread = 32, .shared_bytes = 32 * kKiB};
  EXPECT_EQ(occupancy(as_in_the_book, block).blocks_per_sm, 5);
  EXPECT_DOUBLE_EQ(occupancy(as_in_the_book, block).fraction(), 0.625);
  // ... but CUDA keeps 1 KiB in each block, and 5 x 33 KiB exceed 164 KiB.
  const Occupancy real = occupancy(limits_of("A100"), block);
  EXPECT_EQ(real.shared_per_block, 33 * kKiB);
  EXPECT_EQ(real.blocks_per_sm, 4);
  EXPECT_DOUBLE_EQ(real.fraction(), 0.5);
  EXPECT_EQ(real.limiter, "shared memory");
  EXPECT_DOUBLE_EQ(occupancy(limits_of("H200"), block).fraction(), 0.75);
}

// --- occupancy: rules ------------------------------------------------------------------------------------------------

TEST(Occupancy, RegistersCountPerFile) {
  // 9.0 has four register files of 16384. With 80 registers per thread a warp takes 2560: 6 fit a file, 24 an SM,
  // though 25.6 times 2560 are 65536. With 200 (6400 per warp) 2 fit a file: a block of 8 warps runs, of 9 does not.
  const SmLimits hopper = sm_limits(9, 0);
  EXPECT_EQ(occupancy(hopper, {.threads = 32, .registers_per_thread = 80}).blocks_by_registers, 24);
  EXPECT_EQ(occupancy(hopper, {.threads = 8 * 32, .registers_per_thread = 200}).blocks_per_sm, 1);
  EXPECT_EQ(occupancy(hopper, {.threads = 8 * 32 + 1, .registers_per_thread = 200}).limiter, "registers");
}

TEST(Occupancy, TeslaRoundsABlockToPairsOfWarps) {
  // 1.x: 5 warps are charged as 6. With 16 registers 3072 of 8192, so 2 blocks and not 3.
  EXPECT_EQ(occupancy(limits_of("G80"), {.threads = 160, .registers_per_thread = 16}).blocks_per_sm, 2);
  // In units of 512 on 1.3: 2 warps with 9 registers are 576, charged as 1024; on 1.0, in units of 256, as 768.
  EXPECT_EQ(occupancy(limits_of("GT200"), {.threads = 64, .registers_per_thread = 9}).registers_per_block, 1024);
  EXPECT_EQ(occupancy(limits_of("G80"), {.threads = 64, .registers_per_thread = 9}).registers_per_block, 768);
}

TEST(Occupancy, FermiTakesRegistersByTheWarp) {
  // 2.0: 21 registers are 672 a warp, charged as 704: 23 warps to each of two files, so 5 blocks of 8 warps.
  const Occupancy o = occupancy(limits_of("GTX 480"), {.threads = 256, .registers_per_thread = 21});
  EXPECT_EQ(o.registers_per_block, 8 * 704);
  EXPECT_EQ(o.blocks_per_sm, 5);
  EXPECT_EQ(o.limiter, "registers");
}

TEST(Occupancy, PascalRunsWhatAllOfPascalRuns) {
  // 22 warps with 88 registers fit into GP100's two register files, but not into the four of its siblings.
  EXPECT_FALSE(occupancy(sm_limits(6, 0), {.threads = 704, .registers_per_thread = 88}).runs());
  EXPECT_FALSE(occupancy(sm_limits(6, 1), {.threads = 704, .registers_per_thread = 88}).runs());
}

TEST(Occupancy, ABlockTooDeepIsRefusedForItsDepthAlone) {
  const SmLimits hopper = sm_limits(9, 0);
  const BlockNeeds block{.threads = 1024, .z = 256};
  const Occupancy o = occupancy(hopper, block);
  EXPECT_EQ(o.limiter, "threads along z");
  EXPECT_EQ(o.reason, "256 threads along z of a block, the limit is 64");
  EXPECT_EQ(o.blocks_per_sm, 0);
  EXPECT_EQ(o.blocks_by_threads, 2);
  const std::vector<NextStep> steps = next_steps(hopper, block);
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].block.z, 64);
  EXPECT_EQ(steps[0].block.threads, 1024);
  EXPECT_EQ(occupancy(hopper, {.threads = 2048, .z = 128}).limiter, "threads along z and threads");
}

TEST(Occupancy, NamesEveryLimiter) {
  const SmLimits hopper = sm_limits(9, 0);
  EXPECT_EQ(occupancy(hopper, {.threads = 1024, .registers_per_thread = 16}).limiter, "threads");
  EXPECT_EQ(occupancy(hopper, {.threads = 32, .registers_per_thread = 16}).limiter, "blocks");
  EXPECT_EQ(occupancy(hopper, {.threads = 256, .registers_per_thread = 64}).limiter, "registers");
  EXPECT_EQ(occupancy(hopper, {.threads = 64, .registers_per_thread = 32, .shared_bytes = 6 * kKiB}).limiter,
            "threads, blocks, registers and shared memory");
  EXPECT_EQ(occupancy(hopper, {.threads = 256, .registers_per_thread = 64, .shared_bytes = 50 * kKiB}).limiter,
            "registers and shared memory");
}

TEST(Occupancy, SaysWhyABlockCannotRun) {
  const SmLimits hopper = sm_limits(9, 0);
  const Occupancy many = occupancy(hopper, {.threads = 2000, .registers_per_thread = 16});
  EXPECT_EQ(many.reason, "2000 threads in a block, the limit is 1024");
  EXPECT_EQ(many.limiter, "threads");
  EXPECT_EQ(many.warps, 0);
  EXPECT_DOUBLE_EQ(many.fraction(), 0);
  const Occupancy shared = occupancy(hopper, {.threads = 32, .shared_bytes = 227 * kKiB + 1});
  EXPECT_EQ(shared.reason, "232449 B of shared memory in a block, the limit is 232448");
  EXPECT_EQ(occupancy(hopper, {.threads = 32, .shared_bytes = 227 * kKiB}).blocks_per_sm, 1);
  EXPECT_EQ(occupancy(hopper, {.threads = 32, .registers_per_thread = 256}).limiter, "registers");
  EXPECT_EQ(occupancy(hopper, {.threads = 1024, .registers_per_thread = 65}).limiter, "registers");
  EXPECT_TRUE(occupancy(hopper, {.threads = 1024, .registers_per_thread = 64}).runs());
  const Occupancy both = occupancy(hopper, {.threads = 2000, .shared_bytes = 300 * kKiB});
  EXPECT_EQ(both.limiter, "threads and shared memory");
  EXPECT_TRUE(has(both.reason, "1024; 307200 B"));
}

TEST(Occupancy, TellsWhenAKernelMustOptIn) {
  EXPECT_FALSE(occupancy(sm_limits(9, 0), {.threads = 32, .shared_bytes = 48 * kKiB}).needs_opt_in);
  EXPECT_TRUE(occupancy(sm_limits(9, 0), {.threads = 32, .shared_bytes = 48 * kKiB + 1}).needs_opt_in);
}

TEST(Occupancy, RefusesHostileInput) {
  const SmLimits hopper = sm_limits(9, 0);
  constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();
  EXPECT_TRUE(has(error_of([&] { occupancy(hopper, {.threads = 0}); }), "0 threads"));
  EXPECT_TRUE(has(error_of([&] { occupancy(hopper, {.threads = -1}); }), "-1 threads"));
  EXPECT_TRUE(has(error_of([&] { occupancy(hopper, {.threads = kHuge}); }), "makes no sense"));
  EXPECT_TRUE(has(error_of([&] { occupancy(hopper, {.threads = 32, .registers_per_thread = -8}); }), "-8 registers"));
  EXPECT_TRUE(has(error_of([&] { occupancy(hopper, {.threads = 32, .shared_bytes = -1}); }), "shared memory"));
  EXPECT_TRUE(has(error_of([&] { occupancy(hopper, {.threads = 32, .shared_bytes = kHuge}); }), "makes no sense"));
  constexpr std::int64_t kLarge = std::numeric_limits<int>::max();  // allowed, and must not overflow
  const Occupancy o = occupancy(hopper, {.threads = kLarge, .registers_per_thread = kLarge, .shared_bytes = kLarge});
  EXPECT_EQ(o.blocks_per_sm, 0);
  EXPECT_EQ(o.limiter, "threads, registers and shared memory");
}

TEST(Occupancy, UnknownComputeCapability) {
  for (const auto& version : {std::pair{4, 0}, {9, 5}, {-1, 0}, {90, 0}}) {
    const std::string message = error_of([&] { sm_limits(version.first, version.second); });
    EXPECT_TRUE(has(message, std::to_string(version.first) + "." + std::to_string(version.second))) << message;
    EXPECT_TRUE(has(message, "1.0, 1.1") && has(message, "9.0")) << message;
  }
}

TEST(Occupancy, MoreNeedsNeverGiveMoreBlocks) {
  for (const SmLimits& sm : all_sm_limits())
    for (std::int64_t threads = 1; threads <= sm.threads_per_block; threads += 31)
      for (std::int64_t registers = 1; registers < sm.registers_per_thread; registers += 5) {
        const BlockNeeds block = {.threads = threads, .registers_per_thread = registers, .shared_bytes = 1000};
        const int blocks = occupancy(sm, block).blocks_per_sm;
        BlockNeeds more = block;
        more.registers_per_thread += 1;
        EXPECT_LE(occupancy(sm, more).blocks_per_sm, blocks);
        more = block;
        more.shared_bytes *= 3;
        EXPECT_LE(occupancy(sm, more).blocks_per_sm, blocks);
        const Occupancy o = occupancy(sm, block);
        EXPECT_EQ(o.runs(), o.blocks_per_sm > 0);
        EXPECT_LE(o.warps, o.max_warps);
        EXPECT_LE(o.blocks_per_sm * o.registers_per_block, sm.registers_per_sm);
        EXPECT_LE(o.blocks_per_sm * o.shared_per_block, sm.shared_per_sm);
      }
}

TEST(Occupancy, TableIsConsistent) {
  std::set<std::pair<int, int>> seen;
  for (const SmLimits& sm : all_sm_limits()) {
    const std::pair cc = {sm.major, sm.minor};
    EXPECT_TRUE(seen.empty() || *seen.rbegin() < cc) << sm.major << "." << sm.minor << " is out of order";
    seen.insert(cc);
    EXPECT_LE(sm.registers_per_block, sm.registers_per_sm);
    EXPECT_LE(sm.shared_per_block, sm.shared_per_block_optin);
    EXPECT_LE(sm.shared_per_block_optin + sm.shared_reserved, sm.shared_per_sm);
    EXPECT_EQ(sm.shared_reserved, sm.major >= 8 ? kKiB : 0);
    EXPECT_GT(sm.shared_unit, 0);
    EXPECT_GT(sm.register_unit, 0);
  }
}

// --- occupancy: independent answers ----------------------------------------------------------------------------------

TEST(Occupancy, AgreesWithNvidiasCalculator) {
#ifndef RUNG_HAS_ORACLE
  GTEST_SKIP() << "cuda_occupancy.h is not on the include path: no CUDA Toolkit here";
#else
  std::mt19937 random(20240229);
  const auto up_to = [&](std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random);
  };
  int compared = 0, running = 0;
  for (const SmLimits& sm : all_sm_limits()) {
    if (sm.major < 3) continue;  // the header no longer has Tesla and Fermi
    cudaOccDeviceProp device;
    device.computeMajor = sm.major;
    device.computeMinor = sm.minor;
    device.maxThreadsPerBlock = sm.threads_per_block;
    device.maxThreadsPerMultiprocessor = sm.threads_per_sm;
    device.regsPerBlock = sm.registers_per_block;
    device.regsPerMultiprocessor = sm.registers_per_sm;
    device.warpSize = 32;
    device.sharedMemPerBlock = sm.shared_per_block;
    device.sharedMemPerMultiprocessor = sm.shared_per_sm;
    device.numSms = 1;
    device.sharedMemPerBlockOptin = sm.shared_per_block_optin;
    device.reservedSharedMemPerBlock = sm.shared_reserved;
    for (int i = 0; i < 3000; ++i) {
      const std::int64_t fixed = up_to(0, 3) == 0 ? up_to(0, sm.shared_per_block) : 0;
      // Mostly small amounts, since large ones always give one block.
      const std::int64_t most = up_to(0, 1) == 0 ? sm.shared_per_block_optin : 16 * kKiB;
      const std::int64_t dynamic = up_to(0, most);
      const BlockNeeds block = {.threads = up_to(1, sm.threads_per_block + 64),
                                .registers_per_thread = up_to(1, sm.registers_per_thread),
                                .shared_bytes = fixed + dynamic};
      cudaOccFuncAttributes kernel;
      kernel.maxThreadsPerBlock = sm.threads_per_block;
      kernel.numRegs = static_cast<int>(block.registers_per_thread);
      kernel.sharedSizeBytes = static_cast<std::size_t>(fixed);
      kernel.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
      kernel.maxDynamicSharedSizeBytes = static_cast<std::size_t>(sm.shared_per_block_optin);
      kernel.numBlockBarriers = 1;
      cudaOccResult expected{};
      const cudaOccDeviceState state;
      ASSERT_EQ(
          cudaOccMaxActiveBlocksPerMultiprocessor(&expected, &device, &kernel, &state, static_cast<int>(block.threads),
                                                  static_cast<std::size_t>(dynamic)),
          CUDA_OCC_SUCCESS);
      const Occupancy o = occupancy(sm, block);
      const std::string where = "cc " + std::to_string(sm.major) + "." + std::to_string(sm.minor) + ", " +
                                std::to_string(block.threads) + " threads, " +
                                std::to_string(block.registers_per_thread) + " registers, " +
                                std::to_string(block.shared_bytes) + " B shared";
      ASSERT_EQ(o.blocks_per_sm, expected.activeBlocksPerMultiprocessor) << where;
      EXPECT_EQ(o.blocks_by_threads, expected.blockLimitWarps) << where;
      EXPECT_EQ(o.blocks_by_slots, expected.blockLimitBlocks) << where;
      EXPECT_EQ(o.blocks_by_registers, expected.blockLimitRegs) << where;
      EXPECT_EQ(o.blocks_by_shared, expected.blockLimitSharedMem) << where;
      EXPECT_EQ(o.runs(), o.blocks_per_sm > 0) << where;
      ++compared;
      running += o.blocks_per_sm > 1;
    }
  }
  EXPECT_GE(compared, 50000);
  EXPECT_GE(running, compared / 5) << "too few cases with more than one block for a meaningful test";
#endif
}

/// The numbers of a line of a CSV file; empty if a value is not a whole number.
std::vector<std::int64_t> numbers(const std::string& line) {
  std::vector<std::int64_t> values;
  std::istringstream cells(line);
  for (std::string cell; std::getline(cells, cell, ',');) {
    std::size_t used = 0;
    try {
      values.push_back(std::stoll(cell, &used));
    } catch (const std::exception&) {
      return {};
    }
    if (used != cell.size()) return {};
  }
  return values;
}

std::string unpacked(const std::filesystem::path& path) {
  std::FILE* pipe = popen(("gzip -dc '" + path.string() + "'").c_str(), "r");
  std::string all;
  char part[4096];
  for (std::size_t n; (n = fread(part, 1, sizeof part, pipe)) > 0;) all.append(part, n);
  EXPECT_EQ(pclose(pipe), 0) << path;
  return all;
}

TEST(Occupancy, AgreesWithTheRecordedApi) {
  const std::filesystem::path path = source_dir() / "experiments/recorded/nvidia-h200/occupancy_api.csv.gz";
  std::istringstream file(unpacked(path));
  std::string line;
  ASSERT_TRUE(std::getline(file, line) && has(line, "cc 9.0")) << "the first line must name the device: " << line;
  ASSERT_TRUE(std::getline(file, line));
  ASSERT_EQ(line, "registers_per_thread,static_shared_bytes,dynamic_shared_bytes,threads,blocks_per_sm");
  const SmLimits hopper = sm_limits(9, 0);
  std::set<std::int64_t> registers;
  int rows = 0;
  for (; std::getline(file, line); ++rows) {
    const std::vector<std::int64_t> row = numbers(line);
    ASSERT_EQ(row.size(), 5u) << "row " << rows << ": " << line;
    registers.insert(row[0]);
    const Occupancy o =
        occupancy(hopper, {.threads = row[3], .registers_per_thread = row[0], .shared_bytes = row[1] + row[2]});
    EXPECT_EQ(o.blocks_per_sm, row[4]) << line;
  }
  EXPECT_GE(rows, 10000);
  EXPECT_GE(registers.size(), 12u);
}

}  // namespace
}  // namespace rung
