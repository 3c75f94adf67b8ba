/// The whole product in a single block: thread (tx, ty) computes the element of C in row ty and column tx, so the block
/// index is not needed. A block has at most 1024 threads, hence n <= 32, and occupies one multiprocessor while all
/// others are idle.
/// Source: Zhou, CUDA/GPU Programming (2), "Matrix Multiply: CUDA Kernel" and "Problems".
#include "common/problem/matmul.hpp"
#include "gpu/simt/simt.hpp"

namespace rung {
namespace {

constexpr int kWidest = 32;  // 32 x 32 = 1024 threads, the most in a block since compute capability 2.0

__global__ void matmul_one_block(const mem<float>* a, const mem<float>* b, mem<float>* c, int n) {
  const int row = threadIdx.y;
  const int col = threadIdx.x;
  reg<float> sum = 0;
  for (int i = 0; i < n; ++i) sum += a[row * n + i] * b[i * n + col];
  c[row * n + col] = sum;
}

const bool added = add_gpu_kernel({
    .name = "gpu/matmul/one_block",
    .order = 10,
    .title = "one block",
    .idea = "One block computes all of C, one thread per element: correct, but limited to the size of a block.",
    .source = {{"zhou2015", "Matrix Multiply: one block"}},
    .refuse = [](const Params& p) -> std::string {
      const MatmulShape shape = matmul_shape(p);
      if (std::string why = refuse_rectangular(shape); !why.empty()) return why;
      if (shape.n > kWidest) return "one block has at most 1024 threads, one for each element of C: n is at most 32";
      return "";
    },
    .gpu =
        {
            .launch =
                [](const Params& p) {
                  const auto n = static_cast<unsigned>(matmul_shape(p).n);
                  return Launch{{1, 1}, {n, n}};
                },
            .requested =
                [](const Params& p) {
                  const double n = matmul_shape(p).n;
                  return Traffic{.loaded = 8 * n * n * n, .stored = 4 * n * n};
                },
        },
    .run =
        [](const Call& call) {
          launch(call, matmul_one_block, call.operand<const mem<float>>(0), call.operand<const mem<float>>(1),
                 call.operand<mem<float>>(2), matmul_shape(call.params).n);
        },
});

}  // namespace
}  // namespace rung
