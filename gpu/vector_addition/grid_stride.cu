/// A grid that does not grow with n: each thread takes every (threads of the grid)-th element. One launch serves any n,
/// and no block is started after the first ones; with several loads before the first addition more bytes are in flight.
/// But all blocks sweep memory at once until the end, and a block that falls behind cannot pass work to another: expect
/// less than from many short blocks with as much work each.
#include <algorithm>

#include "common/machine/device_facts.hpp"
#include "gpu/simt/simt.hpp"

namespace rung {
namespace {

constexpr int kThreads = 256;

using Loads = Choices<4, 1, 2>;

template <int InFlight>
__global__ void add_grid_stride(const mem<float>* a, const mem<float>* b, mem<float>* c, std::int64_t n) {
  const std::int64_t stride = std::int64_t{gridDim.x} * kThreads;
  std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  for (; i + (InFlight - 1) * stride < n; i += InFlight * stride) {
    reg<float> left[InFlight], right[InFlight];
    for (int j = 0; j < InFlight; ++j) left[j] = a[i + j * stride];
    for (int j = 0; j < InFlight; ++j) right[j] = b[i + j * stride];
    for (int j = 0; j < InFlight; ++j) c[i + j * stride] = left[j] + right[j];
  }
  for (; i < n; i += stride) c[i] = a[i] + b[i];  // the rest, less than InFlight strides
}

const bool added = add_gpu_kernel({
    .name = "gpu/vector_addition/grid_stride",
    .order = 30,
    .title = "grid-stride loop",
    .idea = "A grid of fixed size goes over the arrays in strides, with several loads of each thread in flight.",
    .source = {{"harris2013"}, {"little1961"}},
    .tunables = {{"blocks_per_sm", {8, 4, 2, 16, 32}}, {"loads", Loads::values()}},
    .gpu = {
        .launch =
            [](const Params& p) {
              const auto most = static_cast<unsigned>(gpu_facts().sm_count * p.at("blocks_per_sm"));
              return Launch{{std::min(most, blocks_for(p.at("n"), kThreads))}, {kThreads}};
            },
        .requested = [](const Params& p) { return Traffic{.loaded = 8.0 * p.at("n"), .stored = 4.0 * p.at("n")}; },
    },
    .run =
        [](const Call& call) {
          Loads::pick(call.params.at("loads"), [&](auto loads) {
            launch(call, add_grid_stride<loads>, call.operand<const mem<float>>(0), call.operand<const mem<float>>(1),
                   call.operand<mem<float>>(2), call.params.at("n"));
          });
        },
});

}  // namespace
}  // namespace rung
