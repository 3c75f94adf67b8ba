/// Shared memory read in a random order: each block loads its slice of the array once and reads it `passes` times, each
/// time by a permutation in which the places of neighbouring lanes are unrelated. Of 32 random words some share a bank,
/// and a request takes as many wavefronts as the fullest bank has words: usually 3 to 4.
#include "common/machine/device_facts.hpp"
#include "gpu/ceilings/quad.hpp"

namespace rung {
namespace {

constexpr int kThreads = 1024;
constexpr int kBlocksPerSm = 2;  // 2048 threads: every slot of a multiprocessor
constexpr int kSlice = 8192;     // 32 KiB in a block
constexpr int kPerThread = kSlice / kThreads;

/// A permutation of 0 .. kSlice - 1 (kSlice is a power of two): each step is invertible.
__device__ __forceinline__ unsigned scattered(unsigned i) {
  for (int round = 0; round < 3; ++round) {
    i = (i * 0x9E3779B1u + 0x7F4A7C15u) & (kSlice - 1);
    i ^= i >> 7;
  }
  return i;
}

__global__ void read_shared_random(const mem<std::uint32_t>* data, mem<std::uint32_t>* partials, unsigned elements,
                                   int passes, int zero) {
  __shared__ mem<std::uint32_t> slice[kSlice];
  const unsigned tx = threadIdx.x;
  for (unsigned i = tx; i < kSlice; i += kThreads) {
    std::uint32_t element = 0;
    if (blockIdx.x * kSlice + i < elements) element = data[blockIdx.x * kSlice + i];
    slice[i] = element;
  }
  __syncthreads();
  unsigned index[kPerThread];
  for (int k = 0; k < kPerThread; ++k) index[k] = scattered(tx + k * kThreads);
  std::uint32_t sum = 0;
  for (int pass = 0; pass < passes; ++pass) {
    const unsigned moved = sum & zero;  // by 0, which the compiler must not know: it would read once for all passes
    for (int k = 0; k < kPerThread; ++k) sum += slice[index[k] + moved];
  }
  store_partials<kThreads>(sum, partials);
}

unsigned blocks_of(const Params& p) { return blocks_for(p.at("bytes"), kSlice * 4); }

const bool added = add_gpu_kernel({
    .name = "gpu/read/shared_random",
    .order = 50,
    .title = "shared memory, random",
    .idea = "Lanes read shared memory in a random order, each word once per pass.",
    .source = {{"zhou2015", "Shared memory: full speed random access"}},
    .type = Type::uint32,
    .refuse = [](const Params& p) -> std::string {
      return blocks_of(p) > kReadPartials ? "reads at most as much as 4096 blocks of threads hold in shared memory"
                                          : "";
    },
    .sizes =
        [] {
          return Params{{"bytes", std::int64_t{gpu_facts().sm_count} * kBlocksPerSm * kSlice * 4}, {"passes", 1024}};
        },
    .gpu =
        {
            .launch =
                [](const Params& p) {
                  return Launch{{blocks_of(p)}, {kThreads}};
                },
            .requested =
                [](const Params& p) {
                  return Traffic{.loaded = static_cast<double>(p.at("bytes")), .stored = 4.0 * kReadPartials};
                },
        },
    .run =
        [](const Call& call) {
          launch(call, read_shared_random, call.operand<const mem<std::uint32_t>>(0),
                 call.operand<mem<std::uint32_t>>(1), static_cast<unsigned>(call.params.at("bytes") / 4),
                 static_cast<int>(call.params.at("passes")), 0);
        },
});

}  // namespace
}  // namespace rung
