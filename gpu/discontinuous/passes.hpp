/// Shared by the kernels of the discontinuous function: the loop around it, and the record's parts. In an unnamed
/// namespace, so that each of the three builds of a kernel's file has its own copy.
#pragma once

#include "common/problem/discontinuous.hpp"
#include "gpu/simt/ways_walked.hpp"

namespace rung {
namespace {

constexpr int kDiscontinuousThreads = 256;

/// Elements per thread: enough loads in flight for the bandwidth of memory, or one.
using DiscontinuousElements = Choices<4, 1>;

/// `Function` has of(a, b). All results are added up, so that the compiler cannot remove any.
template <typename Function, int Elements>
__global__ void __launch_bounds__(kDiscontinuousThreads)
    discontinuous(const mem<float>* a, const mem<float>* b, mem<float>* c, std::int64_t n, int passes) {
  const std::int64_t first = std::int64_t{blockIdx.x} * (kDiscontinuousThreads * Elements) + threadIdx.x;
  reg<float> at[Elements] = {}, with[Elements] = {}, sum[Elements] = {};
#pragma unroll
  for (int j = 0; j < Elements; ++j)
    if (first + j * kDiscontinuousThreads < n) {
      at[j] = a[first + j * kDiscontinuousThreads];
      with[j] = b[first + j * kDiscontinuousThreads];
    }
#pragma unroll 1
  for (int pass = 0; pass < passes; ++pass)
#pragma unroll
    for (int j = 0; j < Elements; ++j)
      if (first + j * kDiscontinuousThreads < n) {
        sum[j] = __fadd_rn(sum[j], Function::of(at[j], with[j]));
        at[j] = __fmul_rn(at[j], kDiscontinuousNudge);
      }
#pragma unroll
  for (int j = 0; j < Elements; ++j)
    if (first + j * kDiscontinuousThreads < n) c[first + j * kDiscontinuousThreads] = sum[j];
}

/// The record of the kernel with this function. `record`: its name and texts.
template <typename Function>
bool add_discontinuous(Kernel record) {
  record.tunables = {{"elements", DiscontinuousElements::values()}};
  record.gpu.launch = [](const Params& p) {
    return Launch{{blocks_for(p.at("n"), kDiscontinuousThreads * p.at("elements"))}, {kDiscontinuousThreads}};
  };
  record.gpu.requested = [](const Params& p) {
    const auto n = static_cast<double>(p.at("n"));
    return Traffic{.loaded = 8 * n, .stored = 4 * n};
  };
  record.run = [](const Call& call) {
    DiscontinuousElements::pick(call.params.at("elements"), [&](auto elements) {
      launch(call, discontinuous<Function, elements>, call.operand<const mem<float>>(0),
             call.operand<const mem<float>>(1), call.operand<mem<float>>(2), call.params.at("n"),
             static_cast<int>(call.params.at("passes")));
    });
  };
  return add_gpu_kernel(std::move(record));
}

}  // namespace
}  // namespace rung
