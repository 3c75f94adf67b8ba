/// No copy at all: the threads of a kernel load and store pinned memory of the host over the link. Reading waits for
/// the link's round trip, so the kernel must request many bytes at once: several loads of 16 bytes per thread. Floor:
/// bytes over the link's rate, as for the engines; there is no engine to start, so small arrays are faster.
#include "common/problem/transfer.hpp"
#include "gpu/simt/simt.hpp"

namespace rung {
namespace {

constexpr int kThreads = 256;
constexpr int kQuad = 4;  // elements of an access

using Loads = Choices<4, 1, 2, 8>;

/// Row 0 of blocks copies `from` to `to`; row 1, where there is one, the second pair.
template <int InFlight>
__global__ void copy_over_link(const mem<float>* from, mem<float>* to, const mem<float>* back_from, mem<float>* back_to,
                               std::int64_t n) {
  const mem<float>* source = blockIdx.y == 0 ? from : back_from;
  mem<float>* target = blockIdx.y == 0 ? to : back_to;
  const mem<float4>* quads = vector_cast<float4>(source);
  mem<float4>* copies = vector_cast<float4>(target);
  const std::int64_t whole = n / kQuad, first = std::int64_t{blockIdx.x} * kThreads * InFlight + threadIdx.x;
  float4 quad[InFlight] = {};
  for (int j = 0; j < InFlight; ++j)
    if (first + j * kThreads < whole) quad[j] = quads[first + j * kThreads];
  for (int j = 0; j < InFlight; ++j)
    if (first + j * kThreads < whole) copies[first + j * kThreads] = quad[j];
  const std::int64_t tail = whole * kQuad + std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (tail < n) target[tail] = source[tail];  // the last elements, fewer than 4, are for the first threads
}

const bool added = add_gpu_kernel({
    .name = "gpu/transfer/zero_copy",
    .order = 30,
    .title = "zero copy",
    .idea = "The threads of a kernel load and store the host's memory over the link, with no copy before or after.",
    .source = {{"cuda-best-practices", "zero copy"}, {"little1961"}},
    .tunables = {{"loads", Loads::values()}},
    .gpu = {
        .pins_host = true,
        .launch =
            [](const Params& p) {
              const std::int64_t elements = kThreads * kQuad * p.at("loads");  // per block
              return Launch{{blocks_for(p.at("n"), elements), static_cast<unsigned>(transfer_pairs(p))}, {kThreads}};
            },
        .requested =
            [](const Params& p) {
              return Traffic{transfer_bytes(p), transfer_bytes(p)};
            },
    },
    .run =
        [](const Call& call) {
          const bool both = transfer_pairs(call.params) == 2;
          Loads::pick(call.params.at("loads"), [&](auto loads) {
            launch(call, copy_over_link<loads>, call.operand<const mem<float>>(0), call.operand<mem<float>>(1),
                   both ? call.operand<const mem<float>>(2) : nullptr, both ? call.operand<mem<float>>(3) : nullptr,
                   call.params.at("n"));
          });
        },
});

}  // namespace
}  // namespace rung
