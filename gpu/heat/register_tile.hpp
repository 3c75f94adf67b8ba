/// One step with the cells in registers: the kernel of heat/register_tile, also used for the last steps of
/// heat/temporal.
#pragma once

#include "gpu/heat/one_step.hpp"

namespace rung {
namespace {

constexpr int kRegisterCols = 128;  // per warp: 4 per lane
constexpr int kRegisterWarps = 8;   // per block, one below the other

/// Four neighbouring columns of a row, zero outside the grid. One load where rows are whole float4s.
template <bool kQuads>
__device__ __forceinline__ float4 cells_at(const mem<float>* u, int row, int col, const HeatGrid& g) {
  float4 cells = make_float4(0, 0, 0, 0);
  if (row < 0 || row >= g.rows || col >= g.cols) return cells;
  const mem<float>* const at = u + (row * g.cols + col);
  if constexpr (kQuads) {
    cells = *vector_cast<float4>(at);
  } else {
    cells.x = at[0];
    if (col + 1 < g.cols) cells.y = at[1];
    if (col + 2 < g.cols) cells.z = at[2];
    if (col + 3 < g.cols) cells.w = at[3];
  }
  return cells;
}

template <bool kQuads>
__device__ __forceinline__ void put_cells(mem<float>* next, int row, int col, const HeatGrid& g, const float4& cells) {
  if (row >= g.rows || col >= g.cols) return;
  mem<float>* const to = next + (row * g.cols + col);
  if constexpr (kQuads) {
    *vector_cast<float4>(to) = cells;
  } else {
    to[0] = cells.x;
    if (col + 1 < g.cols) to[1] = cells.y;
    if (col + 2 < g.cols) to[2] = cells.z;
    if (col + 3 < g.cols) to[3] = cells.w;
  }
}

/// A lane computes 4 columns of Rows rows; the columns next to them come from its neighbours by shuffles.
template <int Rows, bool kQuads>
__global__ void __launch_bounds__(32 * kRegisterWarps)
    heat_register_tile(const mem<float>* u, mem<float>* next, HeatGrid g) {
  const int lane = threadIdx.x;
  const int row = (blockIdx.y * kRegisterWarps + threadIdx.y) * Rows;
  const int col = blockIdx.x * kRegisterCols + lane * 4;
  if (row >= g.rows) return;                         // the whole warp
  const int beside = lane == 0 ? col - 1 : col + 4;  // the column of another warp that the outer lanes need
  const bool needs_beside = (lane == 0 && col > 0) || (lane == 31 && beside < g.cols);
  float4 cells[Rows + 2];
  reg<float> outer[Rows] = {};
#pragma unroll
  for (int r = 0; r < Rows + 2; ++r) cells[r] = cells_at<kQuads>(u, row + r - 1, col, g);
#pragma unroll
  for (int r = 0; r < Rows; ++r)
    if (needs_beside && row + r < g.rows) outer[r] = u[(row + r) * g.cols + beside];
#pragma unroll
  for (int r = 0; r < Rows; ++r) {
    const float4 north = cells[r], c = cells[r + 1], south = cells[r + 2];
    reg<float> west = __shfl_up_sync(~0u, c.w, 1), east = __shfl_down_sync(~0u, c.x, 1);
    if (lane == 0) west = outer[r];
    if (lane == 31) east = outer[r];
    put_cells<kQuads>(next, row + r, col, g,
                      make_float4(g.centre * c.x + g.side * ((north.x + south.x) + (west + c.y)),
                                  g.centre * c.y + g.side * ((north.y + south.y) + (c.x + c.z)),
                                  g.centre * c.z + g.side * ((north.z + south.z) + (c.y + c.w)),
                                  g.centre * c.w + g.side * ((north.w + south.w) + (c.z + east))));
  }
}

inline Launch register_tile_launch(const Params& p, int rows) {
  return {{blocks_for(p.at("n"), kRegisterCols), blocks_for(p.at("m"), rows * kRegisterWarps)}, {32, kRegisterWarps}};
}

/// Elements that a step loads: its rows, the rows above and below, and one column on either side of each warp's.
inline double register_tile_loads(const Params& p, int rows) {
  return cells_of_tiles(p.at("m"), rows, 1) * p.at("n") +
         p.at("m") * (cells_of_tiles(p.at("n"), kRegisterCols, 1) - p.at("n"));
}

/// The kernel for these sizes.
template <int Rows>
auto register_tile(const Params& p) {
  return has_quads(p) ? heat_register_tile<Rows, true> : heat_register_tile<Rows, false>;
}

}  // namespace
}  // namespace rung
