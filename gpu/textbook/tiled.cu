/// The textbook's product with tiles of 16 x 16, gpu/matmul/tiled: a sixteenth of the naive kernel's requests to global
/// memory, and two loads from shared memory per multiply-add instead. Floor in the textbook's model: half a byte per
/// multiply-add over the bandwidth of memory; on a current GPU the loads from shared memory take longer.
#include "gpu/textbook/loads.hpp"

namespace rung {
namespace {

constexpr int kTile = 16;

template <bool kPastL1>
__global__ void textbook_tiled(const mem<float>* a, const mem<float>* b, mem<float>* c, int n, Rows rows) {
  __shared__ mem<float> as[kTile][kTile];
  __shared__ mem<float> bs[kTile][kTile];
  const int tx = threadIdx.x;
  const int ty = threadIdx.y;
  const int row = blockIdx.y * kTile + ty;
  const int col = blockIdx.x * kTile + tx;
  reg<float> sum = 0;
  for (int phase = 0; phase < n / kTile; ++phase) {
    as[ty][tx] = load<kPastL1>(a + row * rows.a + phase * kTile + tx);
    bs[ty][tx] = load<kPastL1>(b + (phase * kTile + ty) * rows.b + col);
    __syncthreads();  // the tiles are complete before any thread reads what others loaded
    for (int i = 0; i < kTile; ++i) sum += as[ty][i] * bs[i][tx];
    __syncthreads();  // all threads have finished with the tiles before the next phase overwrites them
  }
  c[row * rows.c + col] = sum;
}

const bool added = add_gpu_kernel({
    .name = "gpu/textbook/tiled",
    .order = 20,
    .title = "tiled",
    .idea = "The threads of a block load each tile of A and B into shared memory once, through L1 or bypassing it.",
    .source = {{"pmpp", "section 5.4, figure 5.9"}, {"zhou2015"}},
    .tunables = {load_ways()},
    .refuse = [](const Params& p) -> std::string {
      const MatmulShape shape = matmul_shape(p);
      if (std::string why = refuse_rectangular(shape); !why.empty()) return why;
      return shape.n % kTile == 0 ? "" : "n must be a multiple of 16";
    },
    .gpu =
        {
            .launch =
                [](const Params& p) {
                  const unsigned blocks = blocks_for(matmul_shape(p).n, kTile);
                  return Launch{{blocks, blocks}, {kTile, kTile}};
                },
            .requested =
                [](const Params& p) {
                  const double n = matmul_shape(p).n;
                  return Traffic{.loaded = 8 * n * n * n / kTile, .stored = 4 * n * n};
                },
        },
    .run =
        [](const Call& call) {
          pick_loads(call, [&](auto is_past) {
            launch(call, textbook_tiled<is_past>, call.operand<const mem<float>>(0), call.operand<const mem<float>>(1),
                   call.operand<mem<float>>(2), matmul_shape(call.params).n, rows_of(call.params));
          });
        },
});

}  // namespace
}  // namespace rung
