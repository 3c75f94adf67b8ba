/// The transpose through shared memory: a block reads a tile along the rows of A, waits, and writes it along the rows
/// of B. The kernels differ only in the layout: where the tile's element (row, col) is.
#pragma once

#include "common/problem/transpose.hpp"
#include "gpu/simt/simt.hpp"

namespace rung {
namespace {

constexpr int kTile = 32;     // rows and columns: a warp's width
constexpr int kTileRows = 8;  // threads of a block in y; each takes kTile / kTileRows elements

template <typename Layout>
__global__ void transpose_tile(const mem<float>* a, mem<float>* b, int rows, int cols) {
  __shared__ mem<float> tile[Layout::kElements];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int first_row = blockIdx.y * kTile, first_col = blockIdx.x * kTile;
  const int col = first_col + tx;
  reg<float> element[kTile / kTileRows] = {};
#pragma unroll
  for (int i = 0; i < kTile / kTileRows; ++i) {
    const int row = first_row + ty + i * kTileRows;
    if (row < rows && col < cols) element[i] = a[std::int64_t{row} * cols + col];
  }
#pragma unroll
  for (int i = 0; i < kTile / kTileRows; ++i) tile[Layout::at(ty + i * kTileRows, tx)] = element[i];
  __syncthreads();  // the tile is complete before it is read across
  const int row = first_row + tx;
#pragma unroll
  for (int i = 0; i < kTile / kTileRows; ++i) {
    const int across = first_col + ty + i * kTileRows;
    if (row < rows && across < cols) b[std::int64_t{across} * rows + row] = tile[Layout::at(tx, ty + i * kTileRows)];
  }
}

template <typename Layout>
void run_tile(const Call& call) {
  launch(call, transpose_tile<Layout>, call.operand<const mem<float>>(0), call.operand<mem<float>>(1),
         static_cast<int>(call.params.at("m")), static_cast<int>(call.params.at("n")));
}

/// For .gpu.
inline GpuPart tile_launch() {
  return {.launch =
              [](const Params& p) {
                return Launch{{blocks_for(p.at("n"), kTile), blocks_for(p.at("m"), kTile)}, {kTile, kTileRows}};
              },
          .requested =
              [](const Params& p) {
                return Traffic{.loaded = 4 * transpose_elements(p), .stored = 4 * transpose_elements(p)};
              }};
}

}  // namespace
}  // namespace rung
