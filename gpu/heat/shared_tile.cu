/// A block copies its tile of the field and a halo into shared memory, each cell once, by asynchronous copies that are
/// all in flight before any thread waits. Each thread then processes a column downwards, with the rows above in
/// registers: three loads from shared memory per cell. It gains over the naive kernel, whose neighbours come from L1,
/// not by reuse but because it has many more bytes in flight, and tall tiles keep the halo small. Expect close to the
/// bandwidth of a copy.
/// Source: PMPP 4e, section 8.3 (shared memory tiling for stencils); Blakely, shared memory.
#include "gpu/heat/one_step.hpp"

namespace rung {
namespace {

using Rows = Choices<32, 16, 64>;

constexpr int kCols = 128;  // columns of a tile
constexpr int kHalo = 4;    // columns on either side: one is used, but copies are of four
constexpr int kWidth = kCols + 2 * kHalo;
constexpr int kThreads = 256;

/// Elements per copy: 4, or 1 where rows do not begin at multiples of 16 bytes.
template <int Rows, int Elements>
__global__ void heat_shared_tile(const mem<float>* u, mem<float>* next, HeatGrid g) {
  __shared__ __align__(16) mem<float> tile[Rows + 2][kWidth];
  const int first_row = blockIdx.y * Rows - 1, first_col = blockIdx.x * kCols - kHalo;
  constexpr int kPieces = kWidth / Elements;  // copies of a row
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
  __syncthreads();  // the tile is complete before any thread reads what others loaded
  const int x = kHalo + threadIdx.x % kCols, col = first_col + x;
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
    .idea = "A block copies a tile and its halo into shared memory, with all copies in flight at once, and computes "
            "from there.",
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
                  p, cells_of_tiles(p.at("m"), p.at("rows"), 1) * cells_of_tiles(p.at("n"), kCols, kHalo));
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
