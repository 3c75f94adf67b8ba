/// Every thread reads its row of A and its column of B from global memory. The 16 threads of half a warp request the
/// same element of A and 16 neighbouring elements of B. Both loads coalesce, but the first uses 4 bytes of a sector of
/// 32.
/// Source: Blakely, Writing and Compiling a CUDA Code, "Naïve approach".
#include "gpu/matmul/skinny/skinny.hpp"

namespace rung {
namespace {

__global__ void skinny_global(const mem<float>* a, const mem<float>* b, mem<float>* c, int m, int n) {
  const int row = blockIdx.y * kSkinnyDepth + threadIdx.y;
  const int col = blockIdx.x * kSkinnyDepth + threadIdx.x;
  if (row >= m || col >= n) return;
  reg<float> sum = 0;
  for (int i = 0; i < kSkinnyDepth; ++i) sum += a[row * kSkinnyDepth + i] * b[i * n + col];
  c[row * n + col] = sum;
}

const bool added = add_gpu_kernel({
    .name = "gpu/matmul/skinny_global",
    .order = 62,
    .title = "skinny, global memory",
    .idea = "For a depth of 16: every thread reads its row of A and its column of B from global memory.",
    .source = {{"blakely", "Matrix multiplication, naïve approach"}},
    .refuse = refuse_depth,
    .gpu =
        {
            .launch = skinny_launch,
            .requested =
                [](const Params& p) { return Traffic{.loaded = 2 * bytes_of_all_threads(p), .stored = bytes_of_c(p)}; },
        },
    .run =
        [](const Call& call) {
          const auto [m, n, k] = matmul_shape(call.params);
          launch(call, skinny_global, call.operand<const mem<float>>(0), call.operand<const mem<float>>(1),
                 call.operand<mem<float>>(2), m, n);
        },
});

}  // namespace
}  // namespace rung
