/// Walkers in global memory: each thread has one or a few, and each step of a walker waits for the load before it. A
/// single walker measures the latency of L1, L2 or DRAM, whichever holds the array; more walkers in one block measure
/// how many loads a multiprocessor can have in flight. Floor: steps x latency for any number of walkers, until the
/// level's bandwidth is the limit.
#include <algorithm>

#include "gpu/simt/simt.hpp"

namespace rung {
namespace {

using Walkers = Choices<1, 2, 4, 8>;

template <int Each>
__global__ void walk(const mem<std::uint32_t>* next, mem<std::uint32_t>* at, mem<std::uint32_t>* sums, int threads,
                     int steps) {
  const int thread = blockIdx.x * blockDim.x + threadIdx.x;
  if (thread >= threads) return;
  std::uint32_t here[Each], sum[Each] = {};
#pragma unroll
  for (int j = 0; j < Each; ++j) here[j] = at[thread + j * threads];
#pragma unroll 4
  for (int step = 0; step < steps; ++step) {
#pragma unroll
    for (int j = 0; j < Each; ++j) here[j] = next[here[j]];
#pragma unroll
    for (int j = 0; j < Each; ++j) sum[j] += here[j];
  }
#pragma unroll
  for (int j = 0; j < Each; ++j) {
    at[thread + j * threads] = here[j];
    sums[thread + j * threads] = sum[j];
  }
}

std::int64_t threads_of(const Params& p) { return p.at("walkers") / p.at("each"); }

const bool added = add_gpu_kernel({
    .name = "gpu/chase/global",
    .order = 10,
    .title = "global memory",
    .idea = "Each thread walks along a cycle of pointers in global memory, every load waiting for the one before.",
    .source = {{"jia2018"}, {"little1961"}},
    .type = Type::uint32,
    .tunables = {{"each", Walkers::values()}, {"block", {1024, 32, 256}}},
    .refuse = [](const Params& p) -> std::string {
      return p.at("walkers") % p.at("each") ? "walkers must be a multiple of the walkers per thread" : "";
    },
    .gpu =
        {
            .launch =
                [](const Params& p) {
                  const std::int64_t threads = threads_of(p), block = std::min(threads, p.at("block"));
                  return Launch{{blocks_for(threads, block)}, {static_cast<unsigned>(block)}};
                },
            .requested =
                [](const Params& p) {
                  const double walkers = static_cast<double>(p.at("walkers"));
                  return Traffic{.loaded = 4 * walkers * (1.0 + p.at("steps")), .stored = 8 * walkers};
                },
        },
    .run =
        [](const Call& call) {
          Walkers::pick(call.params.at("each"), [&](auto each) {
            launch(call, walk<each>, call.operand<const mem<std::uint32_t>>(0), call.operand<mem<std::uint32_t>>(1),
                   call.operand<mem<std::uint32_t>>(2), static_cast<int>(threads_of(call.params)),
                   static_cast<int>(call.params.at("steps")));
          });
        },
});

}  // namespace
}  // namespace rung
