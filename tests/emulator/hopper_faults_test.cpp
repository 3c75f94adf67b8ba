/// Planted faults in a small kernel on TMA and wgmma; the verification or the hazard checks must detect each. One block
/// computes a tile of 64 x 64 of C, one warp loads tiles of A and B, a warpgroup multiplies them, and TMA stores the
/// sums.
#include <gtest/gtest.h>

#include <vector>

#include "common/harness/count.hpp"
#include "common/harness/workload.hpp"
#include "common/machine/target.hpp"
#include "common/problem/matmul.hpp"
#include "gpu/host/tensor_map.hpp"
#include "gpu/simt/hopper_ptx.hpp"
#include "gpu/simt/wgmma_ptx.hpp"
#include "tests/emulator/emulator_support.hpp"

namespace rung {
namespace {

using namespace hopper;

enum class Fault {
  none,
  wrong_swizzle,
  missing_last_step,
  missing_fence_before_store,
  missing_fence_before_wgmma,
  wrong_phase,
  unawaited_tile,
  unawaited_products,
  too_few_bytes,
  early_release,
  no_release,
  tile_outside,
  column_between_quads,
  unawaited_store,
};

constexpr int kTile = 64, kTileBytes = kTile * 128, kStages = 2, kStageBytes = 2 * kTileBytes;
constexpr int kMultiplying = 128, kThreads = kMultiplying + 32;
constexpr int kStagedBytes = kTile * kTile * 4;  // two boxes of 32 columns
constexpr int kSharedBytes = kStages * kStageBytes + kStagedBytes + 1024 + kStages * 16;

template <Fault kFault>
__device__ void load(const CUtensorMap* a, const CUtensorMap* b, std::uint32_t tiles_at, std::uint32_t full,
                     std::uint32_t empty, int steps) {
  for (int step = 0; step < steps; ++step) {
    const int stage = step % kStages;
    const std::uint32_t to = tiles_at + stage * kStageBytes, barrier = full + stage * 8;
    if (kFault != Fault::no_release) barrier_wait(empty + stage * 8, 1 - step / kStages % 2);
    if (elect_one()) {
      barrier_expect(barrier, kFault == Fault::too_few_bytes ? kTileBytes : kStageBytes);
      tma_load(to, a, barrier, step * kTile + (kFault == Fault::column_between_quads ? 1 : 0), blockIdx.y * kTile);
      tma_load(to + kTileBytes, b, barrier, blockIdx.x * kTile, step * kTile);
    }
  }
}

template <Fault kFault>
__device__ void multiply(std::uint32_t tiles_at, std::uint32_t full, std::uint32_t empty, int steps,
                         reg<float> (&sum)[32]) {
  for (int step = 0; step < steps; ++step) {
    const int stage = step % kStages, parity = step / kStages % 2;
    const bool is_last = step == steps - 1;
    if (kFault == Fault::wrong_phase)
      barrier_wait(full + stage * 8, 1 - parity);
    else if (kFault != Fault::unawaited_tile || !is_last)
      barrier_wait(full + stage * 8, parity);
    const bool is_used = kFault != Fault::missing_last_step || !is_last;
    const std::uint32_t a_at = tiles_at + stage * kStageBytes, b_at = a_at + kTileBytes;
    if (kFault == Fault::early_release && threadIdx.x % 32 == 0) barrier_arrive(empty + stage * 8);
    if (kFault != Fault::missing_fence_before_wgmma) wgmma_fence();
    for (int i = 0; i < 4 && is_used; ++i) {
      constexpr std::uint64_t kNoSwizzle = ~(std::uint64_t{3} << 62);
      const std::uint32_t outside = kFault == Fault::tile_outside && is_last ? 200 * 1024 : 0;
      const std::uint64_t a = tile_descriptor(a_at + outside + i * 32, 1024, 16);
      const std::uint64_t b = tile_descriptor(b_at + i * 16 * 128, 1024, kTileBytes);
      const bool is_wrong = kFault == Fault::wrong_swizzle && i == 2 && is_last;
      wgmma_64<Type::bf16, 64>(sum, is_wrong ? a & kNoSwizzle : a, b, step + i > 0);
    }
    wgmma_commit();
    if (kFault != Fault::unawaited_products || !is_last) wgmma_wait<0>();
    if (kFault != Fault::early_release && threadIdx.x % 32 == 0) barrier_arrive(empty + stage * 8);
  }
}

template <Fault kFault>
__device__ void store(const CUtensorMap* c, std::uint32_t staged_at, const reg<float> (&sum)[32]) {
  const int lane = threadIdx.x % 32, first_row = threadIdx.x / 32 * 16 + lane / 4;
  for (int j = 0; j < 8; ++j)
    for (int half = 0; half < 2; ++half) {
      const int row = first_row + 8 * half, chunk = (2 * (j % 4) + lane % 4 / 2) ^ row % 8;
      write_shared_pair(staged_at + j / 4 * (kStagedBytes / 2) + row * 128 + chunk * 16 + lane % 2 * 8,
                        make_float2(sum[4 * j + 2 * half], sum[4 * j + 2 * half + 1]));
    }
  if (kFault != Fault::missing_fence_before_store) publish_to_tma();
  named_barrier<1, kMultiplying>();
  if (threadIdx.x == 0) {
    for (int box = 0; box < 2; ++box)
      tma_store(c, staged_at + box * (kStagedBytes / 2), blockIdx.x * kTile + box * 32, blockIdx.y * kTile);
    if (kFault != Fault::unawaited_store) tma_store_wait<0>();
  }
}

template <Fault kFault>
__global__ void multiply_tiles(const CUtensorMap a, const CUtensorMap b, const CUtensorMap c, int k) {
  const std::uint32_t tiles_at = (shared_address(dynamic_shared<unsigned char>()) + 1023) & ~1023u;
  const std::uint32_t staged_at = tiles_at + kStages * kStageBytes, full = staged_at + kStagedBytes,
                      empty = full + kStages * 8;
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < kStages; ++stage) {
      barrier_init(full + stage * 8, 1);
      barrier_init(empty + stage * 8, kMultiplying / 32);
    }
    publish_barriers();
  }
  __syncthreads();
  const int steps = (k + kTile - 1) / kTile;
  if (threadIdx.x >= kMultiplying) {
    load<kFault>(&a, &b, tiles_at, full, empty, steps);
  } else {
    reg<float> sum[32];
    multiply<kFault>(tiles_at, full, empty, steps, sum);
    store<kFault>(&c, staged_at, sum);
  }
}

template <Fault kFault>
Kernel faulty() {
  return {.name = "gpu/matmul/planted_bf16",
          .type = Type::bf16,
          .gpu = {.min_compute_capability = 90,
                  .launch =
                      [](const Params& p) {
                        const auto [m, n, k] = matmul_shape(p);
                        return Launch{
                            {static_cast<unsigned>(blocks_for(n, kTile)), static_cast<unsigned>(blocks_for(m, kTile))},
                            {kThreads},
                            kSharedBytes};
                      },
                  .requested = [](const Params&) { return Traffic{}; },
                  .emulate =
                      [](const Call& call) {
                        const auto [m, n, k] = matmul_shape(call.params);
                        const auto map = [](const void* at, Type type, int cols, int rows, int box_cols) {
                          return tensor_map({.at = at,
                                             .type = type,
                                             .cols = cols,
                                             .rows = rows,
                                             .pitch = cols,
                                             .box_cols = box_cols,
                                             .box_rows = kTile,
                                             .swizzle = Swizzle::of_128_bytes});
                        };
                        launch(call, multiply_tiles<kFault>, map(call.operands[0], Type::bf16, k, m, 64),
                               map(call.operands[1], Type::bf16, n, k, 64), map(call.operands[2], Type::fp32, n, m, 32),
                               k);
                      }}};
}

struct Verdict {
  bool is_right = true;
  std::string reason;                   ///< why it is not
  std::vector<std::string> findings{};  ///< in every order of its threads
};

Verdict verdict(const Kernel& kernel) {
  Verdict verdict;
  for (const Order order : {Order::forward, Order::reverse, Order::random}) {
    const auto [counts, check] = count(point_of(kernel, {{"m", 64}, {"n", 128}, {"k", 248}}),
                                       {.order = order, .counting = false, .hazards = true});
    verdict.is_right &= check.passed();
    if (!check.passed()) verdict.reason = check.reason();
    for (const Finding& finding : counts.findings) verdict.findings.push_back(finding.text());
  }
  return verdict;
}

/// Whether a finding begins so in each of the three orders.
testing::AssertionResult finds(const Verdict& verdict, const std::string& kind, const std::string& part = "") {
  const auto found = std::count_if(verdict.findings.begin(), verdict.findings.end(), [&](const std::string& text) {
    return text.starts_with(kind + ": ") && contains(text, part) && contains(text, "hopper_faults_test.cpp:");
  });
  if (found >= 3) return testing::AssertionSuccess() << verdict.findings.front();
  auto failure = testing::AssertionFailure() << found << " of 3 orders; found:\n";
  for (const std::string& text : verdict.findings) failure << "  " << text << "\n";
  return failure << "  result: " << (verdict.is_right ? "right" : verdict.reason);
}

TEST(HopperFaults, TheRightKernelIsRightAndHasNoHazard) {
  const Verdict right = verdict(faulty<Fault::none>());
  EXPECT_TRUE(right.is_right) << right.reason;
  EXPECT_TRUE(right.findings.empty()) << right.findings.front();
}

TEST(HopperFaults, WrongNumbersAreFoundByTheReference) {
  for (const Kernel& kernel : {faulty<Fault::wrong_swizzle>(), faulty<Fault::missing_last_step>()}) {
    const Verdict wrong = verdict(kernel);
    EXPECT_FALSE(wrong.is_right);
    EXPECT_TRUE(wrong.findings.empty()) << "it does nothing undefined, but finds " << wrong.findings.front();
  }
}

TEST(HopperFaults, MissingFencesAreFoundThoughTheResultIsRight) {
  const Verdict store = verdict(faulty<Fault::missing_fence_before_store>());
  EXPECT_TRUE(store.is_right);
  EXPECT_TRUE(finds(store, "missing proxy fence", "read by TMA"));
  EXPECT_TRUE(finds(verdict(faulty<Fault::missing_fence_before_wgmma>()), "missing wgmma fence"));
}

TEST(HopperFaults, TilesThatAreNotThereYetAreFound) {
  // Whether the load has been asked for depends on the order.
  Verdict wrong_phase = verdict(faulty<Fault::wrong_phase>());
  for (std::string& text : wrong_phase.findings)
    if (text.starts_with("uninitialised shared memory: ")) text.replace(0, text.find(':'), "unfinished copy");
  EXPECT_TRUE(finds(wrong_phase, "unfinished copy", "read by a tensor core"));
  EXPECT_TRUE(finds(verdict(faulty<Fault::unawaited_tile>()), "unfinished copy", "write by TMA"));
}

TEST(HopperFaults, TilesThatAreFilledWhileTheyAreReadAreFound) {
  EXPECT_TRUE(finds(verdict(faulty<Fault::early_release>()), "write after read", "read by a tensor core"));
  EXPECT_FALSE(verdict(faulty<Fault::no_release>()).findings.empty());
}

TEST(HopperFaults, WhatIsNeverAwaitedIsFound) {
  EXPECT_TRUE(finds(verdict(faulty<Fault::unawaited_products>()), "never awaited", "wgmma"));
  EXPECT_TRUE(finds(verdict(faulty<Fault::unawaited_store>()), "never awaited", "store by TMA"));
}

TEST(HopperFaults, BytesAndAddressesThatDoNotFitAreFound) {
  EXPECT_TRUE(
      finds(verdict(faulty<Fault::too_few_bytes>()), "bad mbarrier", "expects 8192 bytes and gets 16384 bytes"));
  EXPECT_TRUE(finds(verdict(faulty<Fault::tile_outside>()), "out of bounds", "leaves dynamic shared memory"));
  EXPECT_TRUE(finds(verdict(faulty<Fault::column_between_quads>()), "misaligned access", "which is no multiple of 16"));
}

}  // namespace
}  // namespace rung
