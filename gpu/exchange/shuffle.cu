/// A shuffle passes a register of one lane to another: it synchronises the lanes and moves the product in one
/// instruction, with no memory to write, read and guard.
#include "gpu/exchange/ring.hpp"

namespace rung {
namespace {

template <int Threads>
__global__ void exchange_shuffle(const mem<float>* x, const mem<float>* y, mem<float>* z, int n, int rounds) {
  const int i = blockIdx.x * Threads + threadIdx.x;
  const int next = next_in_ring(i, n) % kExchangeRing;
  reg<float> value = 0;
  reg<float> sum = 0;
  if (i < n) value = x[i] * y[i];
  for (int round = 0; round < rounds; ++round) {
    value = __shfl_sync(0xffffffffu, value, next);  // by all lanes: lanes beyond n have nothing to add, but take part
    sum += value;
  }
  if (i < n) z[i] = sum;
}

const bool added = add_gpu_kernel({
    .name = "gpu/exchange/shuffle",
    .order = 50,
    .title = "shuffle",
    .idea = "One shuffle per round passes the product from lane to lane: no barrier and no memory.",
    .source = {{"cuda-guide", "warp shuffle functions"}},
    .tunables = {{"block", RingBlocks::values()}},
    .gpu =
        {
            .launch = ring_launch,
            .requested = ring_traffic,
        },
    .run =
        [](const Call& call) {
          RingBlocks::pick(call.params.at("block"), [&](auto threads) { run_ring(call, exchange_shuffle<threads>); });
        },
});

}  // namespace
}  // namespace rung
