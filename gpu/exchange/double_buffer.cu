/// Two tiles in turn make the second barrier needless: a round writes the tile that nobody reads in that round, and
/// whoever still reads the other one has not passed the next barrier, beyond which alone it is written again.
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
    .idea = "Two tiles in turn: one block barrier a round, since no round writes what the round before reads.",
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
