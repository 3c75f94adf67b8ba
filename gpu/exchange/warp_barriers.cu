/// Neighbours are lanes of one warp, so only the warp has to wait. It does have to: since Volta each lane has its own
/// program counter, and only __syncwarp guarantees that another lane's read sees a lane's write. Both barriers are
/// needed, for the same two reasons as in a block.
/// Source: Blakely, "Using shared memory", according to which none is needed; NVIDIA's tuning guide for Volta,
/// independent thread scheduling.
#include "gpu/exchange/ring.hpp"

namespace rung {
namespace {

template <int Threads>
__global__ void exchange_warp_barriers(const mem<float>* x, const mem<float>* y, mem<float>* z, int n, int rounds) {
  __shared__ mem<float> tile[Threads];
  const int tx = threadIdx.x;
  const int i = blockIdx.x * Threads + tx;
  const int next = next_in_ring(i, n) % Threads;
  reg<float> value = 0;
  reg<float> sum = 0;
  if (i < n) value = x[i] * y[i];
  for (int round = 0; round < rounds; ++round) {
    tile[tx] = value;
    __syncwarp();  // every product of the warp is there before any lane reads its neighbour's
    value = tile[next];
    sum += value;
    __syncwarp();  // every lane has read before any overwrites the product
  }
  if (i < n) z[i] = sum;
}

const bool added = add_gpu_kernel({
    .name = "gpu/exchange/warp_barriers",
    .order = 40,
    .title = "warp barriers",
    .idea = "Neighbours are lanes of a warp, so that two warp barriers per round are enough, and needed since Volta.",
    .source = {{"blakely", "Shared memory"}, {"volta-tuning", "independent thread scheduling"}},
    .tunables = {{"block", RingBlocks::values()}},
    .gpu =
        {
            .launch = ring_launch,
            .requested = ring_traffic,
        },
    .run =
        [](const Call& call) {
          RingBlocks::pick(call.params.at("block"),
                           [&](auto threads) { run_ring(call, exchange_warp_barriers<threads>); });
        },
});

}  // namespace
}  // namespace rung
