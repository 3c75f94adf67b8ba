/// Neighbours of a block exchange through global memory: a barrier between a write and the neighbour's read, and
/// another between the read and the write that overwrites it. __syncthreads makes a block's writes visible to the
/// block. A fence changes nothing in the result here; it is there to measure its cost: __threadfence_block orders
/// writes for the threads of the block, __threadfence for the whole GPU.
/// Source: Blakely, "Global memory access visibility".
#include "gpu/exchange/ring.hpp"

namespace rung {
namespace {

enum Fence { kNone, kBlock, kDevice };
using Fences = Choices<kNone, kBlock, kDevice>;

template <int Threads, int Kind>
__global__ void exchange_global_memory(const mem<float>* x, const mem<float>* y, mem<float>* z, int n, int rounds) {
  const int i = blockIdx.x * Threads + threadIdx.x;
  const int next = next_in_ring(i, n);
  reg<float> value = 0;
  reg<float> sum = 0;
  if (i < n) value = x[i] * y[i];
  for (int round = 0; round < rounds; ++round) {
    if (i < n) z[i] = value;
    if constexpr (Kind == kBlock) __threadfence_block();
    if constexpr (Kind == kDevice) __threadfence();
    __syncthreads();  // every product is there before any thread reads its neighbour's
    if (i < n) value = z[next];
    sum += value;
    __syncthreads();  // every thread has read before any overwrites the product
  }
  if (i < n) z[i] = sum;
}

const bool added = add_gpu_kernel({
    .name = "gpu/exchange/global_memory",
    .order = 10,
    .title = "global memory",
    .idea = "Neighbours exchange through global memory, with two block barriers and optionally a fence in each round.",
    .source = {{"blakely", "Global memory access visibility"}},
    .tunables = {{.name = "block", .values = RingBlocks::values(), .what = "threads per block"},
                 {"fence", words({"none", "block", "device"})}},
    .gpu =
        {
            .launch = ring_launch,
            .requested =
                [](const Params& p) {
                  const double n = p.at("n"), a_round = 4 * n;
                  return Traffic{.loaded = 8 * n + a_round * p.at("rounds"),
                                 .stored = 4 * n + a_round * p.at("rounds")};
                },
        },
    .run =
        [](const Call& call) {
          RingBlocks::pick(call.params.at("block"), [&](auto threads) {
            Fences::pick(call.params.at("fence"),
                         [&](auto fence) { run_ring(call, exchange_global_memory<threads, fence>); });
          });
        },
});

}  // namespace
}  // namespace rung
