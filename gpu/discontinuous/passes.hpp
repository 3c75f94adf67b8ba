/// What the kernels of the discontinuous function share: the loop around it, and the record's parts. In an unnamed
/// namespace: each of the three builds of a kernel's file has its own.
#pragma once

#include "common/problem/discontinuous.hpp"
#include "gpu/simt/ways_walked.hpp"

namespace rung {
namespace {

constexpr int kDiscontinuousThreads = 256;

/// `Function` has of(a, b). Each result is added up, so that none can be left out.
template <typename Function>
__global__ void __launch_bounds__(kDiscontinuousThreads)
    discontinuous(const mem<float>* a, const mem<float>* b, mem<float>* c, std::int64_t n, int passes) {
  const std::int64_t i = std::int64_t{blockIdx.x} * kDiscontinuousThreads + threadIdx.x;
  if (i >= n) return;
  reg<float> at = a[i], sum = 0;
  const reg<float> with = b[i];
#pragma unroll 1
  for (int pass = 0; pass < passes; ++pass) {
    sum = __fadd_rn(sum, Function::of(at, with));
    at = __fmul_rn(at, kDiscontinuousNudge);
  }
  c[i] = sum;
}

/// The record of the kernel with this function, of which `record` has the words.
template <typename Function>
bool add_discontinuous(Kernel record) {
  record.gpu.launch = [](const Params& p) {
    return Launch{{blocks_for(p.at("n"), kDiscontinuousThreads)}, {kDiscontinuousThreads}};
  };
  record.gpu.requested = [](const Params& p) {
    const auto n = static_cast<double>(p.at("n"));
    return Traffic{.loaded = 8 * n, .stored = 4 * n};
  };
  record.run = [](const Call& call) {
    launch(call, discontinuous<Function>, call.operand<const mem<float>>(0), call.operand<const mem<float>>(1),
           call.operand<mem<float>>(2), call.params.at("n"), static_cast<int>(call.params.at("passes")));
  };
  return add_gpu_kernel(std::move(record));
}

}  // namespace
}  // namespace rung
