/// The block's halves first: the lower half of the threads add the sums of the upper half, then a quarter, an eighth …
/// The working threads are always the first ones, so that whole warps drop out and no lane of a working warp is idle
/// until a single warp is left.
#include "gpu/sum/tree.hpp"

namespace rung {
namespace {

struct Sequential {
  template <int Threads>
  static __device__ __forceinline__ void fold(mem<float>* sums) {
    const int tx = threadIdx.x;
    for (int half = Threads / 2; half > 0; half /= 2) {
      __syncthreads();  // the previous step's sums are there
      if (tx < half) sums[tx] += sums[tx + half];
    }
  }
};

const bool added = add_tree<Sequential>({
    .name = "gpu/sum/tree_sequential",
    .order = 4,
    .title = "sequential tree",
    .idea = "A tree in shared memory that adds halves of the block, so that whole warps drop out, not lanes of each.",
    .source = {{"harris2007", "sequential addressing"}, {"pmpp", "section 10.4"}},
});

}  // namespace
}  // namespace rung
