/// The block's 16 rows of A are loaded into shared memory once, one element per thread, and read from there; B still
/// comes from global memory. A thread reads only what its own half of a warp has loaded, so a barrier of the warp is
/// enough. Without any barrier, as in the source, it is a race: since Volta the threads of a warp need not run in step.
/// Source: Blakely, Writing and Compiling a CUDA Code, "Using shared memory".
#include "gpu/matmul/skinny/skinny.hpp"

namespace rung {
namespace {

__global__ void skinny_a_tile(const mem<float>* a, const mem<float>* b, mem<float>* c, int m, int n) {
  __shared__ mem<float> a_tile[kSkinnyDepth][kSkinnyDepth];
  const int row = blockIdx.y * kSkinnyDepth + threadIdx.y;
  const int col = blockIdx.x * kSkinnyDepth + threadIdx.x;
  if (row < m) a_tile[threadIdx.y][threadIdx.x] = a[row * kSkinnyDepth + threadIdx.x];
  __syncwarp();  // both rows of the warp are there
  if (row >= m || col >= n) return;
  reg<float> sum = 0;
  for (int i = 0; i < kSkinnyDepth; ++i) sum += a_tile[threadIdx.y][i] * b[i * n + col];
  c[row * n + col] = sum;
}

const bool added = add_gpu_kernel({
    .name = "gpu/matmul/skinny_a_tile",
    .order = 64,
    .title = "skinny, A’s tile shared",
    .idea = "For a depth of 16: the block’s rows of A come from shared memory, loaded by all its threads.",
    .source = {{"blakely", "Matrix multiplication, using shared memory"}},
    .refuse = refuse_depth,
    .gpu =
        {
            .launch = skinny_launch,
            .requested =
                [](const Params& p) {
                  return Traffic{.loaded = bytes_of_a_tiles(p) + bytes_of_all_threads(p), .stored = bytes_of_c(p)};
                },
        },
    .run =
        [](const Call& call) {
          const auto [m, n, k] = matmul_shape(call.params);
          launch(call, skinny_a_tile, call.operand<const mem<float>>(0), call.operand<const mem<float>>(1),
                 call.operand<mem<float>>(2), m, n);
        },
});

}  // namespace
}  // namespace rung
