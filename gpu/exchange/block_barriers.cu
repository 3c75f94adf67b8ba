/// The exchange moves to shared memory; the barriers stay. Only the place where the product waits for its reader
/// differs from global_memory. So a round costs two block barriers and one access to shared memory each way.
/// Source: Blakely, "Shared memory"; PMPP 4e, section 5.4: the two barriers of the tiled kernel are these two.
#include "gpu/exchange/ring.hpp"

namespace rung {
namespace {

template <int Threads>
__global__ void exchange_block_barriers(const mem<float>* x, const mem<float>* y, mem<float>* z, int n, int rounds) {
  __shared__ mem<float> tile[Threads];
  const int tx = threadIdx.x;
  const int i = blockIdx.x * Threads + tx;
  const int next = next_in_ring(i, n) % Threads;
  reg<float> value = 0;
  reg<float> sum = 0;
  if (i < n) value = x[i] * y[i];
  for (int round = 0; round < rounds; ++round) {
    tile[tx] = value;
    __syncthreads();  // every product is there before any thread reads its neighbour's
    value = tile[next];
    sum += value;
    __syncthreads();  // every thread has read before any overwrites the product
  }
  if (i < n) z[i] = sum;
}

const bool added = add_gpu_kernel({
    .name = "gpu/exchange/block_barriers",
    .order = 20,
    .title = "block barriers",
    .idea = "Neighbours exchange through shared memory, with two block barriers per round.",
    .source = {{"blakely", "Shared memory"}, {"pmpp", "section 5.4"}},
    .tunables = {{"block", RingBlocks::values()}},
    .gpu =
        {
            .launch = ring_launch,
            .requested = ring_traffic,
        },
    .run =
        [](const Call& call) {
          RingBlocks::pick(call.params.at("block"),
                           [&](auto threads) { run_ring(call, exchange_block_barriers<threads>); });
        },
});

}  // namespace
}  // namespace rung
