/// Each thread moves a few elements: it reads their indices, contiguous across the lanes, then the elements of x at
/// these indices. Only the order of the list decides how many sectors a warp's request takes, from 4 to one per lane,
/// and whether a cache still has them. Floor: 12 bytes per element; in a random order 32 for x instead of 4, so 40.
#include "gpu/simt/simt.hpp"

namespace rung {
namespace {

constexpr int kThreads = 256;

using Loads = Choices<8, 4, 1>;

template <int InFlight>
__global__ void gather(const mem<float>* x, const mem<int>* index, mem<float>* y, std::int64_t n) {
  const std::int64_t first = std::int64_t{blockIdx.x} * kThreads * InFlight + threadIdx.x;
  int at[InFlight] = {};
  reg<float> element[InFlight] = {};
#pragma unroll
  for (int j = 0; j < InFlight; ++j)
    if (first + j * kThreads < n) at[j] = index[first + j * kThreads];
#pragma unroll
  for (int j = 0; j < InFlight; ++j)
    if (first + j * kThreads < n) element[j] = x[at[j]];
#pragma unroll
  for (int j = 0; j < InFlight; ++j)
    if (first + j * kThreads < n) y[first + j * kThreads] = element[j];
}

const bool added = add_gpu_kernel({
    .name = "gpu/gather/elements",
    .order = 10,
    .title = "a thread several elements",
    .idea = "Each thread reads several indices, contiguous across the lanes, then the elements at these indices.",
    .source = {{"imam2022", "shuffling data"}},
    .tunables = {{"loads", Loads::values()}},
    .gpu = {
        .launch =
            [](const Params& p) {
              return Launch{{blocks_for(p.at("n"), kThreads * p.at("loads"))}, {kThreads}};
            },
        .requested = [](const Params& p) { return Traffic{.loaded = 8.0 * p.at("n"), .stored = 4.0 * p.at("n")}; },
    },
    .run =
        [](const Call& call) {
          Loads::pick(call.params.at("loads"), [&](auto loads) {
            launch(call, gather<loads>, call.operand<const mem<float>>(0), call.operand<const mem<int>>(1),
                   call.operand<mem<float>>(2), call.params.at("n"));
          });
        },
});

}  // namespace
}  // namespace rung
