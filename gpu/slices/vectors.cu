/// Each thread reads its part of an array, 16 bytes per load and several loads in flight, contiguous across the lanes.
/// Memory has a latency of hundreds of cycles, so a multiprocessor reaches its share of the bandwidth only with
/// bandwidth x latency bytes in flight (Little's law): tens of kilobytes. Floor: the bytes over the bandwidth of DRAM.
#include "common/machine/device_facts.hpp"
#include "common/problem/slices.hpp"
#include "gpu/ceilings/quad.hpp"

namespace rung {
namespace {

using InFlight = Choices<4, 1, 2, 8>;

template <int Loads>
__global__ void read(const mem<uint4>* data, mem<std::uint32_t>* sums, int loads) {
  const mem<uint4>* mine = data + std::int64_t{blockIdx.x} * blockDim.x * loads + threadIdx.x;
  std::uint32_t sum = 0;
  int i = 0;
  for (; i + Loads <= loads; i += Loads) {
    uint4 quad[Loads];
#pragma unroll
    for (int j = 0; j < Loads; ++j) quad[j] = mine[std::int64_t{i + j} * blockDim.x];
#pragma unroll
    for (int j = 0; j < Loads; ++j) sum += total(quad[j]);
  }
  for (; i < loads; ++i) sum += total(mine[std::int64_t{i} * blockDim.x]);
  sums[std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x] = sum;
}

const bool added = add_gpu_kernel({
    .name = "gpu/slices/vectors",
    .order = 10,
    .title = "DRAM read",
    .idea = "Each thread adds up its part of an array, with several loads of 16 bytes in flight.",
    .source = {{"volkov2010"}, {"little1961"}},
    .type = Type::uint32,
    .tunables = {{"in_flight", InFlight::values()}},
    .sizes =
        [] {
          return Params{{"units", gpu_facts().sm_count}, {"block", 256}};
        },
    .gpu =
        {
            .launch =
                [](const Params& p) {
                  return Launch{{static_cast<unsigned>(p.at("blocks"))}, {static_cast<unsigned>(p.at("block"))}};
                },
            .requested = [](const Params& p) { return Traffic{.loaded = slice_bytes(p), .stored = 4.0 * workers(p)}; },
        },
    .run =
        [](const Call& call) {
          InFlight::pick(call.params.at("in_flight"), [&](auto loads) {
            launch(call, read<loads>, call.operand<const mem<uint4>>(0), call.operand<mem<std::uint32_t>>(1),
                   static_cast<int>(call.params.at("loads")));
          });
        },
});

}  // namespace
}  // namespace rung
