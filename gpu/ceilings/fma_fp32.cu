/// The peak rate of FP32 arithmetic: every thread iterates independent chains of fused multiply-adds in registers, so
/// that a new one can start in every clock while others are still under way, and memory is touched only at both ends.
///
/// What keeps the units from that are the loop's own instructions and reads of registers. A multiply-add reads three of
/// them, and those of even and of odd numbers lie in two banks, of which each returns one in a clock. A coefficient
/// that stays the same is kept from one instruction to the next, one of an even and one of an odd register for each
/// place among the operands. So a0 and a1 need registers of different banks, and b0 and b1 as well: then only x is
/// read. One load of 16 bytes, in the order a0 a1 b0 b1, leaves the compiler no other choice.
#include "common/machine/device_facts.hpp"
#include "common/problem/fma.hpp"
#include "gpu/simt/simt.hpp"

namespace rung {
namespace {

constexpr int kThreads = 256;
constexpr int kBlocksPerSm = 8;  // 2048 threads: every slot of a multiprocessor
constexpr int kSteps = kFmaGranule;

using Each = Choices<8, 6>;
using Unroll = Choices<4, 2, 8>;

/// So many steps of each chain, unrolled: what a loop costs on top is then small against them.
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

template <int Each, int Unroll, bool Ordered>
__global__ void fma_fp32(const mem<float>* x, const mem<float>* coefficients, mem<float>* y, std::int64_t chains,
                         int iterations) {
  const std::int64_t first = std::int64_t{blockIdx.x} * kThreads * Each + threadIdx.x;
  reg<float> a0, b0, a1, b1;
  if constexpr (Ordered) {
    alignas(16) __shared__ mem<float> ordered[4];
    if (threadIdx.x < 4) ordered[threadIdx.x % 2 * 2 + threadIdx.x / 2] = coefficients[threadIdx.x];
    __syncthreads();  // the coefficients are there
    const float4 all = *vector_cast<float4>(ordered);
    a0 = all.x, a1 = all.y, b0 = all.z, b1 = all.w;
  } else {
    a0 = coefficients[0], b0 = coefficients[1], a1 = coefficients[2], b1 = coefficients[3];
  }
  reg<float> value[Each];
#pragma unroll
  for (int j = 0; j < Each; ++j) {
    value[j] = 0;
    if (first + j * kThreads < chains) value[j] = x[first + j * kThreads];
  }
  int i = 0;
#pragma unroll 1
  for (; i <= iterations - Unroll * kSteps; i += Unroll * kSteps) advance<Unroll * kSteps>(value, a0, b0, a1, b1);
#pragma unroll 1
  for (; i < iterations; i += kSteps) advance<kSteps>(value, a0, b0, a1, b1);
#pragma unroll
  for (int j = 0; j < Each; ++j)
    if (first + j * kThreads < chains) y[first + j * kThreads] = value[j];
}

const bool added = add_gpu_kernel({
    .name = "gpu/fma/fp32",
    .order = 10,
    .title = "FP32 FMA",
    .idea = "Independent chains of multiply-adds in registers keep every FP32 unit busy in every clock.",
    .source = {{"williams2009", "in-core ceilings"}, {"ert2014"}},
    .tunables = {{"each", Each::values()},
                 {"unroll", Unroll::values()},
                 {"coefficients", words({"ordered", "as_given"})}},
    .ceiling = Ceiling{"FP32 FMA", false},
    .sizes =
        [] {
          const std::int64_t chains = std::int64_t{gpu_facts().sm_count} * kBlocksPerSm * kThreads * 8;
          return Params{{"chains", chains}, {"iterations", 32768}};
        },
    .gpu =
        {
            .launch =
                [](const Params& p) {
                  return Launch{{blocks_for(p.at("chains"), kThreads * p.at("each"))}, {kThreads}};
                },
            .requested =
                [](const Params& p) {
                  const double chains = static_cast<double>(p.at("chains"));
                  const double blocks = blocks_for(p.at("chains"), kThreads * p.at("each"));
                  return Traffic{.loaded = 4 * chains + 16 * blocks * (p.at("coefficients") ? kThreads : 1),
                                 .stored = 4 * chains};
                },
        },
    .run =
        [](const Call& call) {
          const Params& p = call.params;
          const auto run = [&](auto kernel) {
            launch(call, kernel, call.operand<const mem<float>>(0), call.operand<const mem<float>>(1),
                   call.operand<mem<float>>(2), p.at("chains"), static_cast<int>(p.at("iterations")));
          };
          Each::pick(p.at("each"), [&](auto each) {
            Unroll::pick(p.at("unroll"), [&](auto unroll) {
              if (p.at("coefficients"))
                run(fma_fp32<each, unroll, false>);
              else
                run(fma_fp32<each, unroll, true>);
            });
          });
        },
});

}  // namespace
}  // namespace rung
