/// The block's 16 columns of B are in shared memory as well. A thread reads what all warps of the block have loaded, so
/// the block waits at a barrier. Each loaded element is used 16 times; global loads are a sixteenth of the first
/// form's. Source: Blakely, Writing and Compiling a CUDA Code, "Using more shared memory".
#include "gpu/matmul/skinny/skinny.hpp"

namespace rung {
namespace {

__global__ void skinny_both_tiles(const mem<float>* a, const mem<float>* b, mem<float>* c, int m, int n) {
  __shared__ mem<float> a_tile[kSkinnyDepth][kSkinnyDepth];
  __shared__ mem<float> b_tile[kSkinnyDepth][kSkinnyDepth];
  const int row = blockIdx.y * kSkinnyDepth + threadIdx.y;
  const int col = blockIdx.x * kSkinnyDepth + threadIdx.x;
  if (row < m) a_tile[threadIdx.y][threadIdx.x] = a[row * kSkinnyDepth + threadIdx.x];
  if (col < n) b_tile[threadIdx.y][threadIdx.x] = b[threadIdx.y * n + col];
  __syncthreads();  // a column of B's tile is loaded by eight warps
  if (row >= m || col >= n) return;
  reg<float> sum = 0;
  for (int i = 0; i < kSkinnyDepth; ++i) sum += a_tile[threadIdx.y][i] * b_tile[i][threadIdx.x];
  c[row * n + col] = sum;
}

const bool added = add_gpu_kernel({
    .name = "gpu/matmul/skinny_both_tiles",
    .order = 66,
    .title = "skinny, both tiles shared",
    .idea = "For a depth of 16: the block’s rows of A and columns of B both come from shared memory.",
    .source = {{"blakely", "Matrix multiplication, using more shared memory"}},
    .refuse = refuse_depth,
    .gpu =
        {
            .launch = skinny_launch,
            .requested =
                [](const Params& p) {
                  return Traffic{.loaded = bytes_of_a_tiles(p) + bytes_of_b_tiles(p), .stored = bytes_of_c(p)};
                },
        },
    .run =
        [](const Call& call) {
          const auto [m, n, k] = matmul_shape(call.params);
          launch(call, skinny_both_tiles, call.operand<const mem<float>>(0), call.operand<const mem<float>>(1),
                 call.operand<mem<float>>(2), m, n);
        },
});

}  // namespace
}  // namespace rung
