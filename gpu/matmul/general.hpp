/// Shared by the rungs that compute C = alpha A B + beta C with any leading dimensions: the arguments of a kernel,
/// loads of elements and float4s of a matrix with zeros beyond its edges, and stores to C.
#pragma once

#include <algorithm>

#include "common/problem/matmul.hpp"
#include "gpu/simt/simt.hpp"

namespace rung {

/// A row-major matrix as a kernel reads it.
template <typename Element>
struct Matrix {
  const Element* at;
  std::int64_t ld;  ///< elements from one row to the next
  int rows, cols;
  bool quads;  ///< each row begins at a multiple of 16 bytes: float4s can be loaded
};

/// The arguments of a kernel.
template <typename Element, typename Output = Element>
struct Gemm {
  Matrix<Element> a, b;
  Output* c;
  std::int64_t ldc;
  int m, n, k;  ///< k is 0 if alpha is 0: neither A nor B is read
  float alpha, beta;
  bool c_quads;  ///< C's rows begin at multiples of 16 bytes
};
using General = Gemm<mem<float>>;

template <typename Element>
__device__ __forceinline__ reg<float> element_at(const Matrix<Element>& x, int row, int col) {
  reg<float> value = 0;
  if (row < x.rows && col < x.cols) value = x.at[row * x.ld + col];
  return value;
}

/// Elements col to col + 3 of a row; col is a multiple of 4. One load inside an aligned matrix, else up to four.
template <typename Element>
__device__ __forceinline__ float4 quad_at(const Matrix<Element>& x, int row, int col) {
  if (x.quads && row < x.rows && col + 3 < x.cols) {
    const float4 quad = *vector_cast<float4>(x.at + (row * x.ld + col));
    return quad;
  }
  return make_float4(element_at(x, row, col), element_at(x, row, col + 1), element_at(x, row, col + 2),
                     element_at(x, row, col + 3));
}

/// Four contiguous elements, aligned to 16 bytes, from or to shared memory in one instruction.
template <typename Element>
__device__ __forceinline__ void read_quad(const Element* from, reg<float>* to) {
  const float4 quad = *vector_cast<float4>(from);
  to[0] = quad.x;
  to[1] = quad.y;
  to[2] = quad.z;
  to[3] = quad.w;
}
template <typename Element>
__device__ __forceinline__ void write_quad(Element* to, float4 quad) {
  *vector_cast<float4>(to) = quad;
}

/// Sets an element of C to alpha sum + beta C. With beta = 0 C is not read, so a NaN there does not propagate.
template <typename Element, typename Output>
__device__ __forceinline__ void put(const Gemm<Element, Output>& g, int row, int col, reg<float> sum) {
  if (row >= g.m || col >= g.n) return;
  Output* c = g.c + (row * g.ldc + col);
  if (g.beta == 0)
    *c = g.alpha * sum;
  else
    *c = g.alpha * sum + g.beta * *c;
}

/// The same for four contiguous elements; col is a multiple of 4.
template <typename Element>
__device__ __forceinline__ void put_quad(const Gemm<Element>& g, int row, int col, const reg<float>* sum) {
  if (g.c_quads && row < g.m && col + 3 < g.n) {
    mem<float4>* c = vector_cast<float4>(g.c + (row * g.ldc + col));
    float4 old = make_float4(0, 0, 0, 0);
    if (g.beta != 0) old = *c;
    *c = make_float4(g.alpha * sum[0] + g.beta * old.x, g.alpha * sum[1] + g.beta * old.y,
                     g.alpha * sum[2] + g.beta * old.z, g.alpha * sum[3] + g.beta * old.w);
    return;
  }
#pragma unroll
  for (int e = 0; e < 4; ++e) put(g, row, col + e, sum[e]);
}

template <typename T>
bool begins_quads(const T* at, std::int64_t ld) {
  return reinterpret_cast<std::uintptr_t>(at) % 16 == 0 && ld * sizeof(T) % 16 == 0;
}

/// The kernel arguments of a call. Element, Output: how the kernel's arrays are declared; Input: what A and B hold.
template <typename Element = mem<float>, typename Output = Element, typename Input = float>
Gemm<Element, Output> general(const Call& call) {
  const Matmul<Input> it = matmul_of<Input>(call);
  const auto device = [](const Input* at) { return static_cast<const Element*>(static_cast<const void*>(at)); };
  const int k = it.alpha == 0 ? 0 : it.k;
  return {.a = {device(it.a), it.lda, it.m, k, begins_quads(it.a, it.lda)},
          .b = {device(it.b), it.ldb, k, it.n, begins_quads(it.b, it.ldb)},
          .c = static_cast<Output*>(static_cast<void*>(it.c)),
          .ldc = it.ldc,
          .m = it.m,
          .n = it.n,
          .k = k,
          .alpha = it.alpha,
          .beta = it.beta,
          .c_quads = begins_quads(it.c, it.ldc)};
}

/// One block per block_rows x block_cols elements of C.
inline Launch tiled_launch(const Params& p, std::int64_t block_rows, std::int64_t block_cols, Extent block) {
  const auto [m, n, k] = matmul_shape(p);
  return {{blocks_for(n, block_cols), blocks_for(m, block_rows)}, block};
}

/// For kernels with blocks of 256 threads that loop over the rows of a matrix: a few thousand blocks at most, and no
/// idle blocks.
inline Launch launch_over_rows(std::int64_t elements_of_row, std::int64_t rows) {
  return {{static_cast<unsigned>(std::clamp<std::int64_t>(blocks_for(elements_of_row, 256), 1, 16)),
           static_cast<unsigned>(std::clamp<std::int64_t>(rows, 1, 264))},
          {256}};
}

/// Requested bytes where each block reads its rows of A and its columns of B once.
inline Traffic tiled_traffic(const Params& p, std::int64_t block_rows, std::int64_t block_cols,
                             double input_bytes = 4) {
  const auto [m, n, k] = matmul_shape(p);
  const double depth = p.get("alpha", 1) == 0 ? 0 : k, c = 4.0 * m * n;
  const double across = blocks_for(n, block_cols), down = blocks_for(m, block_rows);
  return {.loaded = input_bytes * depth * (across * m + down * n) + (p.get("beta", 0) == 0 ? 0 : c), .stored = c};
}

}  // namespace rung
