/// Planted faults: small changes to a right tiled kernel. The verification or the emulator must detect each of them.
/// The kernels are written like the suite's own, and run by the emulator.
#include <gtest/gtest.h>

#include "common/harness/count.hpp"
#include "common/harness/workload.hpp"
#include "common/machine/target.hpp"
#include "common/problem/matmul.hpp"
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
          .gpu = {.launch =
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
                        launch(call, matmul<fault>, call.operand<const mem<float>>(0),
                               call.operand<const mem<float>>(1), call.operand<mem<float>>(2),
                               int(call.params.at("n")));
                      }}};
}

/// The verdict of the harness's verification, in this order of threads; an error of the emulator is its failure.
Check verdict(const Kernel& kernel, int n, const DataSet& fill, Order order) {
  const Problem& problem = find_problem("matmul");
  const Params sizes = problem.complete({{"n", n}});
  const std::unique_ptr<Target> emulator = open_emulator();
  Workload work(*emulator, kernel, problem, {.params = sizes, .launch = kernel.gpu.launch(sizes)});
  const HostInputs inputs(problem, sizes, fill, 3);
  const Recording recording({.order = order});
  try {
    return work.verify(inputs);
  } catch (const WrongResult& failure) {
    return {.failure = failure.what()};
  }
}

bool caught(const Kernel& kernel) {
  for (const DataSet& fill : {integers(), random_reals()})
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

/// With one block the result is still right: only the check of unchanged memory detects the fault.
TEST(PlantedFaults, DamageBesideTheResultIsNamed) {
  const auto failure = [](const Kernel& kernel) {
    return verdict(kernel, kTile, random_reals(), Order::forward).failure;
  };
  EXPECT_EQ(failure(faulty<Fault::changed_input>()), "changed its input A");
  EXPECT_NE(failure(faulty<Fault::written_past_the_end>()).find("write of 4 bytes, 8 bytes past its end"),
            std::string::npos);
}

TEST(PlantedFaults, AWrongDeclaredByteCountShows) {
  Kernel kernel = faulty<Fault::none>();
  const Counts counts = count(point_of(kernel, {{"n", 24}})).counts;
  const Traffic declared = kernel.gpu.requested({{"n", 24}});
  EXPECT_EQ(double(counts.bytes_loaded), declared.loaded);
  EXPECT_EQ(double(counts.bytes_stored), declared.stored);
  const Kernel without_last_phase = faulty<Fault::missing_last_phase>();
  EXPECT_NE(double(count(point_of(without_last_phase, {{"n", 24}})).counts.bytes_loaded), declared.loaded);
}

}  // namespace
}  // namespace rung
