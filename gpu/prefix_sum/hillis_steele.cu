/// In log2(threads) steps each thread adds the sum that lies 1, 2, 4 … places to its left: few steps, in all of which
/// every thread works, but n log n additions and as many accesses to shared memory, which set the pace long before
/// memory does. Two arrays take turns, so that one barrier a step is enough.
#include "gpu/prefix_sum/three_launches.hpp"

namespace rung {
namespace {

struct HillisSteele {
  template <int Threads>
  static __device__ __forceinline__ reg<float> scan(reg<float> sum) {
    __shared__ mem<float> sums[2][Threads];
    const int tx = threadIdx.x;
    int side = 0;
    sums[side][tx] = sum;
    for (int distance = 1; distance < Threads; distance *= 2) {
      __syncthreads();  // the sums of the step before are there, those of the one before it are read
      if (tx >= distance) sum += sums[side][tx - distance];
      side = 1 - side;
      sums[side][tx] = sum;
    }
    return sum;
  }
};

const bool added = add_three_launches<HillisSteele>({
    .name = "gpu/prefix_sum/hillis_steele",
    .order = 10,
    .title = "Hillis–Steele",
    .idea =
        "Each thread adds what lies 1, 2, 4 … places to its left in shared memory; further launches join the blocks.",
    .source = {{"hillis1986"}, {"pmpp", "section 11.2, the Kogge–Stone algorithm"}},
});

}  // namespace
}  // namespace rung
