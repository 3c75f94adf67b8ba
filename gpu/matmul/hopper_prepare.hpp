/// Kernels before and after the product: transposing A, copying a matrix to rows of whole quads, summing planes, and
/// C = beta C for products without terms.
#pragma once

#include "gpu/matmul/general.hpp"
#include "gpu/matmul/hopper_ptx.hpp"
#include "gpu/simt/launch_together.hpp"

namespace rung::hopper {
namespace {

constexpr int kTransposeTile = 64, kTransposeThreads = 256;

/// to = x transposed, tile by tile. The next kernel may start at once.
__global__ void __launch_bounds__(kTransposeThreads)
    transpose_kernel(Matrix<mem<float>> x, mem<float>* to, std::int64_t ld) {
  allow_next_kernel();
  __shared__ mem<float> tile[kTransposeTile][kTransposeTile + 1];
  const int first_col = blockIdx.x * kTransposeTile, first_row = blockIdx.y * kTransposeTile;
#pragma unroll
  for (int i = threadIdx.x; i < kTransposeTile * kTransposeTile / 4; i += kTransposeThreads) {
    const int row = i / (kTransposeTile / 4), col = i % (kTransposeTile / 4) * 4;
    const float4 quad = quad_at(x, first_row + row, first_col + col);
    tile[row][col] = quad.x, tile[row][col + 1] = quad.y, tile[row][col + 2] = quad.z, tile[row][col + 3] = quad.w;
  }
  __syncthreads();
#pragma unroll
  for (int i = threadIdx.x; i < kTransposeTile * kTransposeTile / 4; i += kTransposeThreads) {
    const int col = i / (kTransposeTile / 4), row = i % (kTransposeTile / 4) * 4;
    if (first_col + col >= x.cols || first_row + row >= x.rows) continue;  // rows of `to` are whole quads
    *vector_cast<float4>(to + (first_col + col) * ld + first_row + row) =
        make_float4(tile[row][col], tile[row + 1][col], tile[row + 2][col], tile[row + 3][col]);
  }
}

__global__ void align_kernel(Matrix<mem<float>> x, mem<float>* to, std::int64_t ld) {
  for (int row = blockIdx.y; row < x.rows; row += gridDim.y)
    for (int col = blockIdx.x * blockDim.x + threadIdx.x; col < x.cols; col += gridDim.x * blockDim.x)
      to[row * ld + col] = x.at[row * x.ld + col];
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

void transpose(const Call& call, const Matrix<mem<float>>& x, float* to, std::int64_t ld) {
  launch(with(call, {{blocks_for(x.cols, kTransposeTile), blocks_for(x.rows, kTransposeTile)}, {kTransposeThreads}}),
         transpose_kernel, x, reinterpret_cast<mem<float>*>(to), ld);
}

void align(const Call& call, const Matrix<mem<float>>& x, float* to, std::int64_t ld) {
  launch(with(call, launch_over_rows(x.cols, x.rows)), align_kernel, x, reinterpret_cast<mem<float>*>(to), ld);
}

void add_planes(const Call& call, const General& g, const float* planes, int count) {
  launch_with({.early = true}, with(call, {{static_cast<unsigned>(gpu_facts().sm_count)}, {256}}), add_planes_kernel, g,
              reinterpret_cast<const mem<float>*>(planes), count, padded(g.n));
}

void scale(const Call& call, const General& g) { launch(with(call, launch_over_rows(g.n, g.m)), scale_kernel, g); }

}  // namespace
}  // namespace rung::hopper
