/// C = alpha A B + beta C in row-major order: A is m x k, B is k x n, C is m x n (the textbook's P = M N of j x k and
/// k x l, with alpha = 1 and beta = 0).
#pragma once

#include <cstdint>

#include "common/registry.hpp"

namespace rung {

struct MatmulShape {
  int m = 0, n = 0, k = 0;
};

inline MatmulShape matmul_shape(const Params& p) {
  return {static_cast<int>(p.at("m")), static_cast<int>(p.at("n")), static_cast<int>(p.at("k"))};
}

/// What a call of a general kernel computes, as BLAS's gemm has it. With alpha = 0 neither A nor B is read, with beta =
/// 0 C is not: a NaN there does not show.
template <typename Input = float>
struct Matmul {
  int m = 0, n = 0, k = 0;
  const Input* a = nullptr;
  const Input* b = nullptr;
  float* c = nullptr;
  std::int64_t lda = 0, ldb = 0, ldc = 0;  ///< leading dimensions: elements from one row to the next
  float alpha = 1, beta = 0;
};

/// The largest distance, in elements, by which the size "shift" moves all operands from their alignment.
constexpr int kMostShift = 63;

/// Throws Error if C shares memory with A or B.
void refuse_aliasing(const void* a, std::size_t a_bytes, const void* b, std::size_t b_bytes, const void* c,
                     std::size_t c_bytes);

/// A call's operands, leading dimensions and factors. Throws Error if the output overlaps an input.
template <typename Input = float>
Matmul<Input> matmul_of(const Call& call) {
  const auto [m, n, k] = matmul_shape(call.params);
  const std::int64_t shift = call.params.get("shift", 0);
  Matmul<Input> it{.m = m,
                   .n = n,
                   .k = k,
                   .a = call.operand<const Input>(0),
                   .b = call.operand<const Input>(1),
                   .c = call.operand<float>(2),
                   .lda = call.params.get("lda", k),
                   .ldb = call.params.get("ldb", n),
                   .ldc = call.params.get("ldc", n),
                   .alpha = static_cast<float>(call.params.get("alpha", 1)),
                   .beta = static_cast<float>(call.params.get("beta", 0))};
  if (!call.inspect) it.a += shift, it.b += shift, it.c += shift;
  const auto bytes = [](std::int64_t rows, std::int64_t ld, std::int64_t width, std::size_t element) {
    return static_cast<std::size_t>((rows - 1) * ld + width) * element;
  };
  if (!call.inspect)
    refuse_aliasing(it.a, bytes(m, it.lda, k, sizeof(Input)), it.b, bytes(k, it.ldb, n, sizeof(Input)), it.c,
                    bytes(m, it.ldc, n, sizeof(float)));
  return it;
}

/// Useful operations: one multiplication and one addition per element of the m x n x k cube.
inline double matmul_flops(const MatmulShape& s) { return 2.0 * s.m * s.n * s.k; }

/// The message for kernels that take square matrices only; empty if they are square.
inline std::string refuse_rectangular(const MatmulShape& s) {
  return s.m == s.n && s.n == s.k ? "" : "takes square matrices only: give --n alone, or use a rectangular kernel";
}

}  // namespace rung
