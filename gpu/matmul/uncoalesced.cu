/// One thread for each element of C, with x along the rows: neighbouring threads of a warp take neighbouring rows.
/// Their loads of A and their stores of C are a whole row apart, so that one request of a warp touches as many sectors
/// as it has rows. Requested bytes and operations are the same as in the naive kernel; only the mapping differs.
/// Source: the mapping that PMPP 4e warns against in section 6.1; the kernel of PMPP 3e, fig. 4.3, with x and y
/// swapped.
#include "common/problem/matmul.hpp"
#include "gpu/simt/simt.hpp"

namespace rung {
namespace {

__global__ void matmul_uncoalesced(const mem<float>* a, const mem<float>* b, mem<float>* c, int m, int n, int k) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;  // the fast index walks down a column
  const int col = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= m || col >= n) return;
  reg<float> sum = 0;
  for (int i = 0; i < k; ++i) sum += a[row * k + i] * b[i * n + col];
  c[row * n + col] = sum;
}

const bool added = add_gpu_kernel({
    .name = "gpu/matmul/uncoalesced",
    .order = 20,
    .title = "uncoalesced",
    .idea = "Many blocks remove the limit on the size, but the lanes of a warp read different rows of A: one sector "
            "per lane.",
    .source = {{"pmpp3", "figure 4.3, x and y exchanged"}},
    .tunables = {{"block", {16, 8, 32}}},
    .gpu = {
        .launch =
            [](const Params& p) {
              const auto [m, n, k] = matmul_shape(p);
              const auto block = static_cast<unsigned>(p.at("block"));
              return Launch{{blocks_for(m, block), blocks_for(n, block)}, {block, block}};
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
          launch(call, matmul_uncoalesced, call.operand<const mem<float>>(0), call.operand<const mem<float>>(1),
                 call.operand<mem<float>>(2), m, n, k);
        },
});

}  // namespace
}  // namespace rung
