/// Neighbours first: threads whose number is a multiple of 2, then of 4, of 8 … add the sum 1, 2, 4 … places further.
/// In each step half of the working threads drop out, all over the block. So for five steps every warp has work for
/// fewer and fewer of its lanes, but issues as many instructions as if all worked.
#include "gpu/sum/tree.hpp"

namespace rung {
namespace {

struct Interleaved {
  template <int Threads>
  static __device__ __forceinline__ void fold(mem<float>* sums) {
    const int tx = threadIdx.x;
    for (int distance = 1; distance < Threads; distance *= 2) {
      __syncthreads();  // the previous step's sums are there
      if (tx % (2 * distance) == 0) sums[tx] += sums[tx + distance];
    }
  }
};

const bool added = add_tree<Interleaved>({
    .name = "gpu/sum/tree_interleaved",
    .order = 2,
    .title = "interleaved tree",
    .idea = "A tree in shared memory that adds neighbours first, so that each warp keeps a few lanes busy.",
    .source = {{"harris2007", "interleaved addressing"}, {"pmpp", "section 10.3"}},
});

}  // namespace
}  // namespace rung
