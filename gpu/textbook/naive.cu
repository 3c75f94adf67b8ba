/// The textbook's naive product, gpu/matmul/naive, in blocks of any shape. In a block of 16 x 16 a warp has two rows:
/// its load of A requests two words in two sectors, its load of B 16 words twice, so that half of the requested bytes
/// are merged away. With one row per warp (32 x 8) three eighths are merged away. With 32 rows per warp (1 x 256) the
/// load of A takes one sector per lane: more bytes are moved than requested, unless a cache keeps the other 28 for the
/// next seven steps. Floor in the textbook's model: 8 bytes per multiply-add over the bandwidth of memory.
#include "gpu/textbook/loads.hpp"

namespace rung {
namespace {

struct Shape {
  unsigned x, y;
};
constexpr Shape kShapes[] = {{16, 16}, {32, 8}, {8, 32}, {32, 32}, {1, 256}};

template <bool kPastL1>
__global__ void textbook_naive(const mem<float>* a, const mem<float>* b, mem<float>* c, int m, int n, int k,
                               Rows rows) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  const int col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= m || col >= n) return;
  reg<float> sum = 0;
  for (int i = 0; i < k; ++i) sum += load<kPastL1>(a + row * rows.a + i) * load<kPastL1>(b + i * rows.b + col);
  c[row * rows.c + col] = sum;
}

const bool added = add_gpu_kernel({
    .name = "gpu/textbook/naive",
    .order = 10,
    .title = "naive",
    .idea = "One thread computes one element from a row of A and a column of B, which caches serve or not.",
    .source = {{"pmpp", "section 5.1"}, {"zhou2015"}},
    .tunables = {{"block", words({"16x16", "32x8", "8x32", "32x32", "1x256"})}, load_ways()},
    .gpu = {
        .launch =
            [](const Params& p) {
              const auto [m, n, k] = matmul_shape(p);
              const Shape block = kShapes[p.at("block")];
              return Launch{{blocks_for(n, block.x), blocks_for(m, block.y)}, {block.x, block.y}};
            },
        .requested =
            [](const Params& p) {
              const auto [m, n, k] = matmul_shape(p);
              return Traffic{.loaded = 8.0 * m * n * k, .stored = 4.0 * m * n};
            },
    },
    .run =
        [](const Call& call) {
          pick_loads(call, [&](auto is_past) {
            const auto [m, n, k] = matmul_shape(call.params);
            launch(call, textbook_naive<is_past>, call.operand<const mem<float>>(0), call.operand<const mem<float>>(1),
                   call.operand<mem<float>>(2), m, n, k, rows_of(call.params));
          });
        },
});

}  // namespace
}  // namespace rung
