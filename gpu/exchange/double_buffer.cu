/// Two alternating tiles make the second barrier unnecessary: a round writes the tile that no thread reads in that
/// round. The other tile is overwritten only after the next barrier, which a thread that still reads it has not passed.
#include "gpu/exchange/ring.hpp"

namespace rung {
namespace {

template <int Threads>
__global__ void exchange_double_buffer(const mem<float>* x, const mem<float>* y, mem<float>* z, int n, int rounds) {
  __shared__ mem<float> tile[2][Threads];
  const int tx = threadIdx.x;
  const int i = blockIdx.x * Threads + tx;
  const int next = next_in_ring(i, n) % Threads;
  reg<float> value = 0;
  reg<float> sum = 0;
  if (i < n) value = x[i] * y[i];
  for (int round = 0; round < rounds; ++round) {
    tile[round % 2][tx] = value;
    __syncthreads();  // this tile is complete, and the other one has been read: it may be written in the next round
    value = tile[round % 2][next];
    sum += value;
  }
  if (i < n) z[i] = sum;
}

const bool added = add_gpu_kernel({
    .name = "gpu/exchange/double_buffer",
    .order = 30,
    .title = "double buffer",
    .idea = "Two alternating tiles: one block barrier per round, since no round writes the tile that the previous "
            "round reads.",
    .source = {{"cuda-guide", "synchronization functions"}},
    .tunables = {{"block", RingBlocks::values()}},
    .gpu =
        {
            .launch = ring_launch,
            .requested = ring_traffic,
        },
    .run =
        [](const Call& call) {
          RingBlocks::pick(call.params.at("block"),
                           [&](auto threads) { run_ring(call, exchange_double_buffer<threads>); });
        },
});

}  // namespace
}  // namespace rung
