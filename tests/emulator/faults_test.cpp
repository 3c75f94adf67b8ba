/// Planted faults: small changes to a right tiled kernel, each of which the verification or the emulator must catch.
/// The kernels are written as the suite's own are, and run by the emulator.
#include <gtest/gtest.h>

#include "common/machine/target.hpp"
#include "common/harness/workload.hpp"
#include "common/problem/matmul.hpp"
#include "common/emulator/emulator.hpp"
#include "gpu/simt/simt.hpp"

namespace rung {
namespace {

enum class Fault {
  none,
  wrong_index,
  transposed_index,
  missing_last_phase,
  missing_last_term,
  doubled_term,
  no_barrier_after_load,
  no_barrier_after_use,
  nan_output,
  unwritten_element,
  written_past_the_end,
  changed_input,
  accumulates_into_output,
  stale_tile,
};

constexpr int kTile = 8;

template <Fault fault>
__global__ void matmul(const mem<float>* a, const mem<float>* b, mem<float>* c, int n) {
  __shared__ mem<float> a_tile[kTile][kTile];
  __shared__ mem<float> b_tile[kTile][kTile];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int row = blockIdx.y * kTile + ty, col = blockIdx.x * kTile + tx;
  const int phases = n / kTile - (fault == Fault::missing_last_phase ? 1 : 0);
  reg<float> sum = 0;
  for (int phase = 0; phase < phases; ++phase) {
    const int column = phase * kTile + tx, line = phase * kTile + ty;
    if (fault != Fault::stale_tile || phase == 0 || tx != 3)
      a_tile[ty][tx] = a[row * n + (fault == Fault::wrong_index && column == 5 ? column - 1 : column)];
    b_tile[ty][tx] = fault == Fault::transposed_index ? b[col * n + line] : b[line * n + col];
    if (fault != Fault::no_barrier_after_load) __syncthreads();
    for (int i = 0; i < kTile; ++i) sum += a_tile[ty][i] * b_tile[i][tx];
    if (fault != Fault::no_barrier_after_use) __syncthreads();
  }
  const bool last = row == n - 1 && col == n - 1;
  if (fault == Fault::missing_last_term) sum += reg<float>(-1) * a[row * n + n - 1] * b[(n - 1) * n + col];
  if (fault == Fault::doubled_term && last) sum += a[row * n] * b[col];
  if (fault == Fault::nan_output && last) sum = NAN;
  if (fault == Fault::unwritten_element && last) return;
  if (fault == Fault::accumulates_into_output) {
    c[row * n + col] += sum;
  } else {
    c[row * n + col] = sum;
  }
  if (fault == Fault::written_past_the_end && last) c[n * n + 2] = 0;
  if (fault == Fault::changed_input && last) const_cast<mem<float>*>(a)[7] = 0;
}

template <Fault fault>
Kernel faulty() {
  return {.name = "gpu/matmul/planted",
          .launch =
              [](const Params& p) {
                const auto blocks = blocks_for(p.at("n"), kTile);
                return Launch{{blocks, blocks}, {kTile, kTile}};
              },
          .requested =
              [](const Params& p) {
                const double n = double(p.at("n"));
                return Traffic{8 * n * n * n / kTile, 4 * n * n};
              },
          .emulate =
              [](const Call& call) {
                launch(call, matmul<fault>, call.operand<const mem<float>>(0), call.operand<const mem<float>>(1),
                       call.operand<mem<float>>(2), int(call.params.at("n")));
              }};
}

/// The verdict of the harness's verification, in this order of threads.
Check verdict(const Kernel& kernel, int n, Fill fill, Order order) {
  const Problem& problem = find_problem("matmul");
  const Params sizes = problem.complete({{"n", n}});
  const std::unique_ptr<Target> emulator = open_emulator();
  Workload work(*emulator, kernel, problem, sizes, {.params = sizes, .launch = kernel.launch(sizes)});
  const HostInputs inputs(problem, sizes, fill, 3);
  const Recording recording({.order = order});
  return work.verify(inputs);
}

bool caught(const Kernel& kernel) {
  for (const Fill fill : {Fill::integers, Fill::random})
    for (const Order order : {Order::forward, Order::reverse, Order::random})
      if (!verdict(kernel, 24, fill, order).passed()) return true;
  return false;
}

TEST(PlantedFaults, TheRightKernelPasses) { EXPECT_FALSE(caught(faulty<Fault::none>())); }

TEST(PlantedFaults, EachIsCaught) {
  EXPECT_TRUE(caught(faulty<Fault::wrong_index>()));
  EXPECT_TRUE(caught(faulty<Fault::transposed_index>()));
  EXPECT_TRUE(caught(faulty<Fault::missing_last_phase>()));
  EXPECT_TRUE(caught(faulty<Fault::missing_last_term>()));
  EXPECT_TRUE(caught(faulty<Fault::doubled_term>()));
  EXPECT_TRUE(caught(faulty<Fault::no_barrier_after_load>()));
  EXPECT_TRUE(caught(faulty<Fault::no_barrier_after_use>()));
  EXPECT_TRUE(caught(faulty<Fault::nan_output>()));
  EXPECT_TRUE(caught(faulty<Fault::unwritten_element>()));
  EXPECT_TRUE(caught(faulty<Fault::written_past_the_end>()));
  EXPECT_TRUE(caught(faulty<Fault::changed_input>()));
  EXPECT_TRUE(caught(faulty<Fault::accumulates_into_output>()));
  EXPECT_TRUE(caught(faulty<Fault::stale_tile>()));
}

/// With one block the result is still right: only the look at what should not have changed tells.
TEST(PlantedFaults, DamageBesideTheResultIsNamed) {
  const auto failure = [](const Kernel& kernel) {
    return verdict(kernel, kTile, Fill::random, Order::forward).failure;
  };
  EXPECT_EQ(failure(faulty<Fault::changed_input>()), "changed its input A");
  EXPECT_EQ(failure(faulty<Fault::written_past_the_end>()), "wrote outside C, 8 bytes after its end");
}

TEST(PlantedFaults, AWrongDeclaredByteCountShows) {
  Kernel kernel = faulty<Fault::none>();
  const Counts counts = count(kernel, {{"n", 24}});
  const Traffic declared = kernel.requested({{"n", 24}});
  EXPECT_EQ(double(counts.bytes_loaded), declared.loaded);
  EXPECT_EQ(double(counts.bytes_stored), declared.stored);
  EXPECT_NE(double(count(faulty<Fault::missing_last_phase>(), {{"n", 24}}).bytes_loaded), declared.loaded);
}

/// Every emulated kernel of the suite asks for exactly the bytes that its record declares, and does the problem's work.
TEST(DeclaredCounts, EqualTheCountedOnes) {
  for (const Kernel& kernel : kernels()) {
    if (kernel.side() != "gpu" || !kernel.not_emulated.empty() || kernel.family() != "matmul") continue;
    for (const Params& shape : {Params{{"n", 1}}, {{"n", 32}}, {{"n", 37}}, {{"m", 33}, {"n", 20}, {"k", 45}}}) {
      const Problem& problem = find_problem(kernel.family());
      std::vector<Params> variants{Params{}};
      for (const Tunable& tunable : kernel.tunables) {
        std::vector<Params> more;
        for (const Params& variant : variants)
          for (const std::int64_t value : tunable.values) {
            more.push_back(variant);
            more.back().set(tunable.name, value);
          }
        variants = more;
      }
      for (const Params& tunables : variants) {
        Params params = problem.complete(shape);
        for (const auto& [name, value] : tunables) params.set(name, value);
        if (!refusal(kernel, params).empty()) continue;
        SCOPED_TRACE(kernel.name + "/" + params.text());
        const Counts counts = count(kernel, params);
        EXPECT_TRUE(counts.check.passed()) << counts.check.failure;
        EXPECT_EQ(double(counts.bytes_loaded), kernel.requested(params).loaded);
        EXPECT_EQ(double(counts.bytes_stored), kernel.requested(params).stored);
        EXPECT_GE(double(counts.flops()), problem.flops(params));
      }
    }
  }
}

}  // namespace
}  // namespace rung
