/// The rate of shared memory: each block loads its slice of the array once and then reads it `passes` times, 16 bytes
/// per thread and load, without bank conflicts. 32 banks of 4 bytes give 128 bytes per clock and multiprocessor.
#include "common/machine/device_facts.hpp"
#include "gpu/ceilings/quad.hpp"

namespace rung {
namespace {

constexpr int kThreads = 1024;
constexpr int kBlocksPerSm = 2;     // 2048 threads: every slot of a multiprocessor
constexpr int kQuadsPerThread = 2;  // 32 KiB in a block
constexpr int kSlice = kThreads * kQuadsPerThread;
constexpr std::int64_t kSliceBytes = kSlice * sizeof(uint4);

__global__ void read_shared(const mem<uint4>* data, mem<std::uint32_t>* partials, unsigned quads, int passes) {
  __shared__ mem<uint4> slice[kSlice];
  const unsigned tx = threadIdx.x;
  for (int j = 0; j < kQuadsPerThread; ++j) {
    const unsigned i = blockIdx.x * kSlice + j * kThreads + tx;
    uint4 quad = {};
    if (i < quads) quad = data[i];
    slice[j * kThreads + tx] = quad;
  }
  __syncthreads();
  std::uint32_t sum = 0;
  for (int pass = 0; pass < passes; ++pass) {
    const unsigned i =
        (tx + 32 * pass) % kThreads;  // shifted by a warp: otherwise the compiler would read once for many passes
    for (int j = 0; j < kQuadsPerThread; ++j) sum += total(slice[j * kThreads + i]);
  }
  store_partials<kThreads>(sum, partials);
}

const bool added = add_gpu_kernel({
    .name = "gpu/read/shared",
    .order = 30,
    .title = "shared memory read",
    .idea = "A slice is loaded into shared memory once and then read again and again, all 32 banks in every clock.",
    .source = {{"cuda-guide", "shared memory banks"}},
    .type = Type::uint32,
    .ceiling = Ceiling{"Shared memory", true},
    .refuse = [](const Params& p) -> std::string {
      return p.at("bytes") > kReadPartials * kSliceBytes ? "reads at most 128 MiB: a block of threads for every 32 KiB"
                                                         : "";
    },
    .sizes =
        [] {
          return Params{{"bytes", gpu_facts().sm_count * kBlocksPerSm * kSliceBytes}, {"passes", 4096}};
        },
    .gpu =
        {
            .launch =
                [](const Params& p) {
                  return Launch{{blocks_for(quads_in(p), kSlice)}, {kThreads}};
                },
            .requested =
                [](const Params& p) {
                  return Traffic{.loaded = static_cast<double>(p.at("bytes")), .stored = 4.0 * kReadPartials};
                },
        },
    .run =
        [](const Call& call) {
          launch(call, read_shared, call.operand<const mem<uint4>>(0), call.operand<mem<std::uint32_t>>(1),
                 static_cast<unsigned>(quads_in(call.params)), static_cast<int>(call.params.at("passes")));
        },
});

}  // namespace
}  // namespace rung
