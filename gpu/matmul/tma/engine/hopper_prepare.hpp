/// Kernels before and after the product: transposing A, summing planes, and C = beta C for products without terms.
#pragma once

#include "gpu/matmul/general.hpp"
#include "gpu/simt/hopper_ptx.hpp"
#include "gpu/simt/launch_together.hpp"

namespace rung::hopper {
namespace {

constexpr int kTransposedTile = 64, kTransposingThreads = 256;

/// Calls use(row, col) for a thread's float4s of the tile.
template <class Use>
__device__ __forceinline__ void each_quad(Use use) {
#pragma unroll
  for (int i = threadIdx.x; i < kTransposedTile * kTransposedTile / 4; i += kTransposingThreads)
    use(i / (kTransposedTile / 4), i % (kTransposedTile / 4) * 4);
}

/// to[col][row] = from[row][col], where rows of `to` have `ld` elements, a multiple of 4. The product may start at
/// once; it waits for the end of this kernel.
__global__ void __launch_bounds__(kTransposingThreads)
    transpose_kernel(const Matrix<mem<float>> from, mem<float>* to, std::int64_t ld) {
  __shared__ mem<float> tile[kTransposedTile][kTransposedTile + 1];
  allow_next_kernel();
  wait_for_previous_kernel();  // it may still be writing A, or reading its transpose
  const int across = (from.cols + kTransposedTile - 1) / kTransposedTile, tile_at = blockIdx.x;
  const int first_row = tile_at / across * kTransposedTile, first_col = tile_at % across * kTransposedTile;
  each_quad([&](int row, int col) {
    const float4 quad = quad_at(from, first_row + row, first_col + col);
    tile[row][col] = quad.x, tile[row][col + 1] = quad.y, tile[row][col + 2] = quad.z, tile[row][col + 3] = quad.w;
  });
  __syncthreads();
  each_quad([&](int col, int row) {
    if (first_col + col < from.cols && first_row + row < from.rows)
      *vector_cast<float4>(to + (first_col + col) * ld + first_row + row) =
          make_float4(tile[row][col], tile[row + 1][col], tile[row + 2][col], tile[row + 3][col]);
  });
}

/// C = the sum of `count` planes, in a fixed order, + beta C. A plane has m rows of `ld` elements, a multiple of 4.
__global__ void add_planes_kernel(General g, const mem<float>* planes, int count, std::int64_t ld) {
  wait_for_previous_kernel();
  const std::int64_t quads = g.m * ld / 4;
  for (std::int64_t q = blockIdx.x * blockDim.x + threadIdx.x; q < quads; q += gridDim.x * blockDim.x) {
    const mem<float4>* plane = vector_cast<float4>(planes) + q;
    float4 sum = __ldcg(plane);
#pragma unroll 4
    for (int s = 1; s < count; ++s) {
      const float4 more = __ldcg(plane + s * quads);
      sum.x += more.x, sum.y += more.y, sum.z += more.z, sum.w += more.w;
    }
    const int row = static_cast<int>(q / (ld / 4)), col = static_cast<int>(q % (ld / 4)) * 4;
    const reg<float> out[4] = {sum.x, sum.y, sum.z, sum.w};
    mem<float>* c = g.c + (row * g.ldc + col);
    for (int e = 0; e < 4 && col + e < g.n; ++e) c[e] = g.beta == 0 ? out[e] : out[e] + g.beta * c[e];
  }
}

__global__ void scale_kernel(General g) {
  for (int row = blockIdx.y; row < g.m; row += gridDim.y)
    for (int col = blockIdx.x * blockDim.x + threadIdx.x; col < g.n; col += gridDim.x * blockDim.x) put(g, row, col, 0);
}

Call with(const Call& call, const Launch& launch) {
  Call changed = call;
  changed.launch = launch;
  return changed;
}

void transpose(const Call& call, const Matrix<mem<float>>& from, float* to, std::int64_t ld) {
  // In one dimension: in the others a grid has at most 65535 blocks.
  const unsigned blocks = blocks_for(from.cols, kTransposedTile) * blocks_for(from.rows, kTransposedTile);
  launch_with({.early = true}, with(call, {{blocks}, {kTransposingThreads}}), transpose_kernel, from,
              reinterpret_cast<mem<float>*>(to), ld);
}

void add_planes(const Call& call, const General& g, const float* planes, int count) {
  launch_with({.early = true}, with(call, {{static_cast<unsigned>(gpu_facts().sm_count)}, {256}}), add_planes_kernel, g,
              reinterpret_cast<const mem<float>*>(planes), count, padded(g.n));
}

void scale(const Call& call, const General& g) { launch(with(call, launch_over_rows(g.n, g.m)), scale_kernel, g); }

}  // namespace
}  // namespace rung::hopper
