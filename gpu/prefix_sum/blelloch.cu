/// A tree in shared memory: sums of pairs, of pairs of pairs and so on up to the root, then from the root down again,
/// where each node passes its left child the sum before the node, and its right child that sum plus the left child's.
/// It takes 2 n additions instead of n log n, but twice the steps. In most steps few threads work, and at strides of
/// powers of two, which fall into the same banks. On a GPU the threads of a warp execute together anyway, so expect
/// little of it.
#include "gpu/prefix_sum/three_launches.hpp"

namespace rung {
namespace {

struct Blelloch {
  template <int Threads>
  static __device__ __forceinline__ reg<float> scan(reg<float> own) {
    __shared__ mem<float> tree[Threads];
    const int tx = threadIdx.x;
    tree[tx] = own;
    for (int distance = 1; distance < Threads; distance *= 2) {
      __syncthreads();  // the children's sums are there
      const int right = (tx + 1) * 2 * distance - 1;
      if (right < Threads) tree[right] += tree[right - distance];
    }
    if (tx == 0) tree[Threads - 1] = 0.0f;  // nothing is before the root; this thread has just written its sum
    for (int distance = Threads / 2; distance > 0; distance /= 2) {
      __syncthreads();  // the parents have passed down the sums before them
      const int right = (tx + 1) * 2 * distance - 1;
      if (right < Threads) {
        const reg<float> left_sum = tree[right - distance], before = tree[right];
        tree[right - distance] = before;
        tree[right] = before + left_sum;
      }
    }
    __syncthreads();
    return tree[tx] + own;
  }
};

const bool added = add_three_launches<Blelloch>({
    .name = "gpu/prefix_sum/blelloch",
    .order = 20,
    .title = "Blelloch",
    .idea = "A tree of sums in shared memory, up and down again: 2 n additions, in twice the steps with fewer threads.",
    .source = {{"blelloch1990"}, {"pmpp", "section 11.4, the Brent–Kung algorithm"}},
});

}  // namespace
}  // namespace rung
