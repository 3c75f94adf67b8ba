/// One thread computes several elements of a row of C, one in each of several neighbouring tiles: the tile of A is
/// loaded into shared memory once for all of them.
/// Source: PMPP 4e, section 6.3 (thread coarsening); the bounds checks as in section 5.5.
#include "gpu/matmul/general.hpp"

namespace rung {
namespace {

constexpr int kTile = 32;
using Outputs = Choices<4, 2, 8>;

template <int Outputs>
__global__ void matmul_coarsened(General g) {
  __shared__ mem<float> as[kTile][kTile];
  __shared__ mem<float> bs[kTile][kTile];
  const int tx = threadIdx.x;
  const int ty = threadIdx.y;
  const int row = blockIdx.y * kTile + ty;
  const int first_col = blockIdx.x * kTile * Outputs + tx;
  reg<float> sum[Outputs];
  for (int out = 0; out < Outputs; ++out) sum[out] = 0;
  for (int phase = 0; phase < g.k; phase += kTile) {
    as[ty][tx] = element_at(g.a, row, phase + tx);
#pragma unroll
    for (int out = 0; out < Outputs; ++out) {
      bs[ty][tx] = element_at(g.b, phase + ty, first_col + out * kTile);
      __syncthreads();
#pragma unroll
      for (int i = 0; i < kTile; ++i) sum[out] += as[ty][i] * bs[i][tx];
      __syncthreads();
    }
  }
#pragma unroll
  for (int out = 0; out < Outputs; ++out) put(g, row, first_col + out * kTile, sum[out]);
}

const bool added = add_gpu_kernel({
    .name = "gpu/matmul/coarsened",
    .order = 100,
    .title = "coarsened",
    .idea = "One thread computes several elements of a row, so a tile of A in shared memory is used with several of B.",
    .source = {{"pmpp", "section 6.3"}},
    .is_general = true,
    .tunables = {{"outputs", Outputs::values()}},
    .gpu = {
        .launch =
            [](const Params& p) {
              return tiled_launch(p, kTile, kTile * p.at("outputs"), {kTile, kTile});
            },
        .requested = [](const Params& p) { return tiled_traffic(p, kTile, kTile * p.at("outputs")); },
    },
    .run =
        [](const Call& call) {
          Outputs::pick(call.params.at("outputs"),
                        [&](auto outputs) { launch(call, matmul_coarsened<outputs>, general(call)); });
        },
});

}  // namespace
}  // namespace rung
