/// In log2(threads) steps each thread adds the sum 1, 2, 4 … places to its left. The steps are few and every thread
/// works in each, but there are n log n additions and as many accesses to shared memory, which limit the rate long
/// before memory does. Two arrays alternate, so that one barrier per step is enough.
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
      __syncthreads();  // the previous step's sums are there, and the sums before them have been read
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
    .idea = "Each thread adds the sum 1, 2, 4 … places to its left in shared memory; further launches join the blocks.",
    .source = {{"hillis1986"}, {"pmpp", "section 11.2, the Kogge–Stone algorithm"}},
});

}  // namespace
}  // namespace rung
