/// One thread for each element of C, each walking a row of A and a column of B in global memory. Neighbouring threads
/// of a warp take neighbouring columns, so the 32 loads of B by a warp access consecutive sectors.
/// Two 4-byte loads for one multiplication and one addition: 0.25 operations per requested byte.
/// Source: PMPP 4e, fig. 3.11 and section 5.1.
#include "common/problem/matmul.hpp"
#include "gpu/simt/simt.hpp"

namespace rung {
namespace {

__global__ void matmul_naive(const mem<float>* a, const mem<float>* b, mem<float>* c, int m, int n, int k) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  const int col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= m || col >= n) return;
  reg<float> sum = 0;
  for (int i = 0; i < k; ++i) sum += a[row * k + i] * b[i * n + col];
  c[row * n + col] = sum;
}

const bool added = add_gpu_kernel({
    .name = "gpu/matmul/naive",
    .order = 30,
    .title = "naive",
    .idea = "One thread computes one element; a warp reads neighbouring columns of B, so its loads coalesce.",
    .source = {{"pmpp", "section 5.1"}, {"imam2022", "matrix multiplication"}},
    .tunables = {{"block", {16, 8, 32, 2}}},
    .gpu = {
        .launch =
            [](const Params& p) {
              const auto [m, n, k] = matmul_shape(p);
              const auto block = static_cast<unsigned>(p.at("block"));
              return Launch{{blocks_for(n, block), blocks_for(m, block)}, {block, block}};
            },
        .requested =
            [](const Params& p) {
              const auto [m, n, k] = matmul_shape(p);
              return Traffic{.loaded = 8.0 * m * n * k, .stored = 4.0 * m * n};
            },
    },
    .run =
        [](const Call& call) {
          const auto [m, n, k] = matmul_shape(call.params);
          launch(call, matmul_naive, call.operand<const mem<float>>(0), call.operand<const mem<float>>(1),
                 call.operand<mem<float>>(2), m, n, k);
        },
});

}  // namespace
}  // namespace rung
