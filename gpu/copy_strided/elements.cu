/// Neighbouring lanes read elements `stride` apart, from `offset` on, and write contiguous elements. A warp's request
/// takes as many 32-byte sectors as its 32 addresses fall into: from a stride of 32 bytes on every element is in a
/// different sector, whose other bytes are moved in vain. Each thread has several loads in flight, so that bandwidth is
/// the limit, not latency.
/// Floor: the sectors' bytes over the bandwidth of the memory that holds the arrays.
#include "common/problem/copy_strided.hpp"
#include "gpu/simt/simt.hpp"

namespace rung {
namespace {

constexpr int kThreads = 256;

using Loads = Choices<8, 4, 1>;

template <typename Element, int InFlight>
__global__ void copy_strided(const mem<float>* x, mem<float>* y, std::int64_t elements, std::int64_t stride,
                             std::int64_t offset) {
  const mem<Element>* from = vector_cast<Element>(x) + offset;
  mem<Element>* to = vector_cast<Element>(y);
  const std::int64_t first = std::int64_t{blockIdx.x} * kThreads * InFlight + threadIdx.x;
  Element element[InFlight] = {};
#pragma unroll
  for (int j = 0; j < InFlight; ++j)
    if (first + j * kThreads < elements) element[j] = from[(first + j * kThreads) * stride];
#pragma unroll
  for (int j = 0; j < InFlight; ++j)
    if (first + j * kThreads < elements) to[first + j * kThreads] = element[j];
}

template <typename Element>
void copy(const Call& call) {
  const Params& p = call.params;
  Loads::pick(p.at("loads"), [&](auto loads) {
    launch(call, copy_strided<Element, loads>, call.operand<const mem<float>>(0), call.operand<mem<float>>(1),
           strided_elements(p), p.at("stride"), p.at("offset"));
  });
}

const bool added = add_gpu_kernel({
    .name = "gpu/copy_strided/elements",
    .order = 10,
    .title = "a thread several elements",
    .idea = "Lanes read elements at a stride, with several loads in flight per thread, and write contiguous elements.",
    .source = {{"harris2013memory"}, {"cuda-best-practices", "strided accesses"}, {"blakely", "coalescence"}},
    .tunables = {{"loads", Loads::values()}},
    .gpu = {
        .launch =
            [](const Params& p) {
              return Launch{{blocks_for(strided_elements(p), kThreads * p.at("loads"))}, {kThreads}};
            },
        .requested = [](const Params& p) { return Traffic{.loaded = strided_bytes(p), .stored = strided_bytes(p)}; },
    },
    .run =
        [](const Call& call) {
          const std::int64_t width = call.params.at("width");
          if (width == 4) copy<float1>(call);
          if (width == 8) copy<float2>(call);
          if (width == 16) copy<float4>(call);
        },
});

}  // namespace
}  // namespace rung
