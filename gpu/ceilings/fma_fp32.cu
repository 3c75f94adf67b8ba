/// The peak rate of FP32 arithmetic: every thread iterates independent chains of fused multiply-adds in registers, so
/// that a new one can start in every clock while others are still in flight, and memory is accessed only at both ends.
///
/// Two things reduce the rate. The first is the loop's own instructions, hence 8 chains and 8 times the granule of
/// steps per iteration. The second is reads of registers: a multiply-add reads three, from two banks, and each bank
/// returns one per clock. A coefficient that stays the same is kept from one instruction to the next, if it is in the
/// right bank. With 8 chains the compiler finds such registers and the rate is close to the peak; with 6 it does not.
#include "common/machine/device_facts.hpp"
#include "common/problem/fma.hpp"
#include "gpu/simt/simt.hpp"

namespace rung {
namespace {

constexpr int kThreads = 256;
constexpr int kBlocksPerSm = 8;  // 2048 threads: every slot of a multiprocessor
constexpr int kSteps = kFmaGranule;

constexpr int kChains = 8;  // per thread
constexpr int kUnroll = 8;  // granules of steps per iteration of the loop

/// The steps of each chain, unrolled, so that the loop's own instructions are few in comparison.
template <int Steps>
__device__ __forceinline__ void advance(reg<float> (&value)[kChains], reg<float> a0, reg<float> b0, reg<float> a1,
                                        reg<float> b1) {
#pragma unroll
  for (int step = 0; step < Steps; step += 2) {
#pragma unroll
    for (int j = 0; j < kChains; ++j) value[j] = value[j] * a0 + b0;
#pragma unroll
    for (int j = 0; j < kChains; ++j) value[j] = value[j] * a1 + b1;
  }
}

__global__ void fma_fp32(const mem<float>* x, const mem<float>* coefficients, mem<float>* y, std::int64_t chains,
                         int iterations) {
  const std::int64_t first = std::int64_t{blockIdx.x} * kThreads * kChains + threadIdx.x;
  const reg<float> a0 = coefficients[0], b0 = coefficients[1], a1 = coefficients[2], b1 = coefficients[3];
  reg<float> value[kChains];
#pragma unroll
  for (int j = 0; j < kChains; ++j) {
    value[j] = 0;
    if (first + j * kThreads < chains) value[j] = x[first + j * kThreads];
  }
  int i = 0;
#pragma unroll 1
  for (; i <= iterations - kUnroll * kSteps; i += kUnroll * kSteps) advance<kUnroll * kSteps>(value, a0, b0, a1, b1);
#pragma unroll 1
  for (; i < iterations; i += kSteps) advance<kSteps>(value, a0, b0, a1, b1);
#pragma unroll
  for (int j = 0; j < kChains; ++j)
    if (first + j * kThreads < chains) y[first + j * kThreads] = value[j];
}

const bool added = add_gpu_kernel({
    .name = "gpu/fma/fp32",
    .order = 10,
    .title = "FP32 FMA",
    .idea = "Independent chains of multiply-adds in registers keep every FP32 unit busy in every clock.",
    .source = {{"williams2009", "in-core ceilings"}, {"ert2014"}},
    .ceiling = Ceiling{"FP32 FMA", false},
    .sizes =
        [] {
          const std::int64_t chains = std::int64_t{gpu_facts().sm_count} * kBlocksPerSm * kThreads * kChains;
          return Params{{"chains", chains}, {"iterations", 32768}};
        },
    .gpu =
        {
            .launch =
                [](const Params& p) {
                  return Launch{{blocks_for(p.at("chains"), kThreads * kChains)}, {kThreads}};
                },
            .requested =
                [](const Params& p) {
                  const double chains = static_cast<double>(p.at("chains"));
                  const double threads = double{kThreads} * blocks_for(p.at("chains"), kThreads * kChains);
                  return Traffic{.loaded = 4 * chains + 16 * threads, .stored = 4 * chains};
                },
        },
    .run =
        [](const Call& call) {
          launch(call, fma_fp32, call.operand<const mem<float>>(0), call.operand<const mem<float>>(1),
                 call.operand<mem<float>>(2), call.params.at("chains"), static_cast<int>(call.params.at("iterations")));
        },
});

}  // namespace
}  // namespace rung
