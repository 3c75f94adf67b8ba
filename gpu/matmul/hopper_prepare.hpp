/// Kernels before and after the product: transposing A and copying matrices to rows of whole quads, summing planes, and
/// C = beta C for products without terms.
#pragma once

#include "gpu/matmul/general.hpp"
#include "gpu/matmul/hopper_ptx.hpp"
#include "gpu/simt/launch_together.hpp"

namespace rung::hopper {
namespace {

constexpr int kPrepareTile = 64, kPrepareThreads = 256;

/// What the product reads in place of a matrix: a copy with rows of whole quads, transposed or not.
struct Prepared {
  Matrix<mem<float>> from;
  mem<float>* to;
  std::int64_t ld;
  int tiles;  ///< a block copies each; 0: the matrix is read where it is
};

/// Calls use(row, col) for a thread's quads of the tile.
template <class Use>
__device__ __forceinline__ void each_quad(Use use) {
#pragma unroll
  for (int i = threadIdx.x; i < kPrepareTile * kPrepareTile / 4; i += kPrepareThreads)
    use(i / (kPrepareTile / 4), i % (kPrepareTile / 4) * 4);
}

__device__ __forceinline__ void transpose_tile(const Prepared& x, int first_row, int first_col) {
  __shared__ mem<float> tile[kPrepareTile][kPrepareTile + 1];
  each_quad([&](int row, int col) {
    const float4 quad = quad_at(x.from, first_row + row, first_col + col);
    tile[row][col] = quad.x, tile[row][col + 1] = quad.y, tile[row][col + 2] = quad.z, tile[row][col + 3] = quad.w;
  });
  __syncthreads();
  each_quad([&](int col, int row) {
    if (first_col + col < x.from.cols && first_row + row < x.from.rows)  // rows of `to` are whole quads
      *vector_cast<float4>(x.to + (first_col + col) * x.ld + first_row + row) =
          make_float4(tile[row][col], tile[row + 1][col], tile[row + 2][col], tile[row + 3][col]);
  });
}

__device__ __forceinline__ void copy_tile(const Prepared& x, int first_row, int first_col) {
  each_quad([&](int row, int col) {
    row += first_row, col += first_col;
    if (row < x.from.rows && col < x.from.cols)
      *vector_cast<float4>(x.to + row * x.ld + col) = quad_at(x.from, row, col);
  });
}

/// Copies A, transposed or not, and B, tile by tile. The product may start at once, and waits for the end.
template <bool kTransposed>
__global__ void __launch_bounds__(kPrepareThreads) prepare_kernel(Prepared a, Prepared b) {
  allow_next_kernel();
  wait_for_previous_kernel();  // it may still be writing A and B, or reading their copies
  const bool is_b = static_cast<int>(blockIdx.x) >= a.tiles;
  const Prepared& x = is_b ? b : a;
  const int tile = blockIdx.x - (is_b ? a.tiles : 0), across = (x.from.cols + kPrepareTile - 1) / kPrepareTile;
  const int row = tile / across * kPrepareTile, col = tile % across * kPrepareTile;
  if (kTransposed && !is_b)
    transpose_tile(x, row, col);
  else
    copy_tile(x, row, col);
}

/// C = the sum of `count` planes of m rows of whole quads, in a fixed order, + beta C.
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

/// A copy of `x` at `to`, if it is needed.
Prepared prepared(const Matrix<mem<float>>& x, bool is_needed, float* to, std::int64_t ld) {
  const auto tiles = static_cast<int>(blocks_for(x.rows, kPrepareTile) * blocks_for(x.cols, kPrepareTile));
  return {x, reinterpret_cast<mem<float>*>(to), ld, is_needed ? tiles : 0};
}

template <bool kTransposed>
void prepare(const Call& call, const Prepared& a, const Prepared& b) {
  if (a.tiles + b.tiles == 0) return;
  launch_with({.early = true}, with(call, {{static_cast<unsigned>(a.tiles + b.tiles)}, {kPrepareThreads}}),
              prepare_kernel<kTransposed>, a, b);
}

void add_planes(const Call& call, const General& g, const float* planes, int count) {
  launch_with({.early = true}, with(call, {{static_cast<unsigned>(gpu_facts().sm_count)}, {256}}), add_planes_kernel, g,
              reinterpret_cast<const mem<float>*>(planes), count, padded(g.n));
}

void scale(const Call& call, const General& g) { launch(with(call, launch_over_rows(g.n, g.m)), scale_kernel, g); }

}  // namespace
}  // namespace rung::hopper
