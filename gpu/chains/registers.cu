/// Multiply-adds by all threads of the launch, which keep their chains in registers. A chain can start its next
/// multiply-add when the previous one has ended, some 4 cycles later. So a scheduler that starts one for a warp in
/// every cycle needs about 4 independent ones: 4 warps with a chain each, or one warp with 4 chains. Floor: the
/// operations over the FP32 peak of all multiprocessors that have a block.
#include "common/machine/device_facts.hpp"
#include "common/problem/chains.hpp"
#include "gpu/simt/simt.hpp"

namespace rung {
namespace {

using Chains = Choices<1, 2, 3, 4, 6, 8>;

/// The steps of each chain, unrolled.
template <int Steps, int Each>
__device__ __forceinline__ void advance(reg<float> (&value)[Each], reg<float> a0, reg<float> b0, reg<float> a1,
                                        reg<float> b1) {
#pragma unroll
  for (int step = 0; step < Steps; step += 2) {
#pragma unroll
    for (int j = 0; j < Each; ++j) value[j] = value[j] * a0 + b0;
#pragma unroll
    for (int j = 0; j < Each; ++j) value[j] = value[j] * a1 + b1;
  }
}

template <int Each>
__global__ void iterate(const mem<float>* x, const mem<float>* coefficients, mem<float>* y, int iterations) {
  // The loop's own three instructions take slots of the scheduler: one in a hundred.
  constexpr int kGranule = static_cast<int>(kFmaGranule), kSteps = 256 / Each / kGranule * kGranule;
  const std::int64_t first = std::int64_t{blockIdx.x} * blockDim.x * Each + threadIdx.x;
  const reg<float> a0 = coefficients[0], b0 = coefficients[1], a1 = coefficients[2], b1 = coefficients[3];
  reg<float> value[Each];
#pragma unroll
  for (int j = 0; j < Each; ++j) value[j] = x[first + j * blockDim.x];
  int i = 0;
#pragma unroll 1
  for (; i <= iterations - kSteps; i += kSteps) advance<kSteps>(value, a0, b0, a1, b1);
#pragma unroll 1
  for (; i < iterations; i += kGranule) advance<kGranule>(value, a0, b0, a1, b1);
#pragma unroll
  for (int j = 0; j < Each; ++j) y[first + j * blockDim.x] = value[j];
}

std::string refuse(const Params& p) {
  bool is_built = false;
  Chains::pick(p.at("each"), [&](auto) { is_built = true; });
  return is_built ? "" : "is built for 1, 2, 3, 4, 6 or 8 chains a thread";
}

const bool added = add_gpu_kernel({
    .name = "gpu/chains/registers",
    .order = 10,
    .title = "FP32 multiply-adds",
    .idea = "Each thread iterates a few independent chains of multiply-adds in registers.",
    .source = {{"volkov2010"}},
    .refuse = refuse,
    .sizes =
        [] {
          return Params{{"units", gpu_facts().sm_count}, {"block", 256}, {"each", 4}};
        },
    .gpu =
        {
            .launch =
                [](const Params& p) {
                  return Launch{{static_cast<unsigned>(p.at("blocks"))}, {static_cast<unsigned>(p.at("block"))}};
                },
            .requested =
                [](const Params& p) {
                  const double chains = static_cast<double>(chains_in(p));
                  return Traffic{.loaded = 4 * chains + 16.0 * workers(p), .stored = 4 * chains};
                },
        },
    .run =
        [](const Call& call) {
          Chains::pick(call.params.at("each"), [&](auto each) {
            launch(call, iterate<each>, call.operand<const mem<float>>(0), call.operand<const mem<float>>(1),
                   call.operand<mem<float>>(2), static_cast<int>(call.params.at("iterations")));
          });
        },
});

}  // namespace
}  // namespace rung
