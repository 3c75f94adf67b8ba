/// A block brings its tile of the field and a margin around it into shared memory, every cell once, by asynchronous
/// copies of 16 bytes: all of them are on their way before anyone waits. Then a thread goes down its column and reads
/// three cells for each that it computes, the others being those of the row before.
/// Tall tiles read little beside their own, and many bytes on the way are what naive lacks: that, more than reuse,
/// which L1 had found as well, is to bring it near the copy bandwidth. Source: PMPP 4e, section 8.3 (stencils with
/// shared memory tiling); Blakely, shared memory.
#include "gpu/heat/one_step.hpp"

namespace rung {
namespace {

using Rows = Choices<32, 16, 64>;

constexpr int kCols = 128;  // columns of a tile
constexpr int kMargin = 4;  // columns beside it: of a quad one is needed
constexpr int kWidth = kCols + 2 * kMargin;
constexpr int kThreads = 256;

/// Elements: copied at once, 4 or, where rows are no whole quads, 1.
template <int Rows, int Elements>
__global__ void heat_shared_tile(const mem<float>* u, mem<float>* next, HeatGrid g) {
  __shared__ __align__(16) mem<float> tile[Rows + 2][kWidth];
  const int first_row = blockIdx.y * Rows - 1, first_col = blockIdx.x * kCols - kMargin;
  constexpr int kPieces = kWidth / Elements;  // of a row
#pragma unroll
  for (int i = threadIdx.x; i < (Rows + 2) * kPieces; i += kThreads) {
    const int y = i / kPieces, x = i % kPieces * Elements;
    const int row = first_row + y, col = first_col + x;
    const bool inside = row >= 0 && row < g.rows && col >= 0 && col < g.cols;
    __pipeline_memcpy_async(&tile[y][x], inside ? u + (row * g.cols + col) : u, 4 * Elements,
                            inside ? 0 : 4 * Elements);
  }
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();  // the tile is complete before any thread reads what others brought
  const int x = kMargin + threadIdx.x % kCols, col = first_col + x;
  if (col >= g.cols) return;
  constexpr int kPart = Rows / (kThreads / kCols);  // rows that a thread computes
  const int top = 1 + threadIdx.x / kCols * kPart;
  reg<float> north = tile[top - 1][x], centre = tile[top][x];
#pragma unroll
  for (int y = top; y < top + kPart; ++y) {
    const reg<float> south = tile[y + 1][x];
    const int row = first_row + y;
    if (row < g.rows)
      next[row * g.cols + col] = g.centre * centre + g.side * ((north + south) + (tile[y][x - 1] + tile[y][x + 1]));
    north = centre;
    centre = south;
  }
}

const bool added = add_gpu_kernel({
    .name = "gpu/heat/shared_tile",
    .order = 20,
    .title = "shared tile",
    .idea = "A block copies a tile and its margin into shared memory, all of it at once, and computes from there.",
    .source = {{"pmpp", "section 8.3"}, {"blakely", "shared memory"}},
    .tunables = {{"rows", Rows::values()}},
    .scratch = one_step_scratch,
    .gpu = {
        .min_compute_capability = 80,
        .launch =
            [](const Params& p) {
              return Launch{{blocks_for(p.at("n"), kCols), blocks_for(p.at("m"), p.at("rows"))}, {kThreads}};
            },
        .requested =
            [](const Params& p) {
              return one_step_traffic(
                  p, cells_of_tiles(p.at("m"), p.at("rows"), 1) * cells_of_tiles(p.at("n"), kCols, kMargin));
            },
    },
    .run =
        [](const Call& call) {
          Rows::pick(call.params.at("rows"), [&](auto rows) {
            run_steps(call, has_quads(call.params) ? heat_shared_tile<rows, 4> : heat_shared_tile<rows, 1>);
          });
        },
});

}  // namespace
}  // namespace rung
