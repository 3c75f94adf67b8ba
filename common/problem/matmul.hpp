/// C = alpha A B + beta C in row-major order: A is m x k, B is k x n, C is m x n (the textbook's P = M N of j x k and
/// k x l, with alpha = 1 and beta = 0).
///
/// In fp32, A, B and C are float32; in bf16 and fp16, A and B have 16 bits, C and its sums are float32. In tf32 and
/// fp8, too, C and its sums are float32, in int8 int32.
///
/// A and B are stored by rows, as C is, or one of them by columns, that is, transposed: A as k rows of m, or B as n
/// rows of k. The size "layout" says which, with a letter for A and one for B, n by rows and t by columns. Left out it
/// is nn, but in tf32, fp8 and int8 nt: of these types tensor cores multiply rows of k only.
///
/// Sizes     n, m, k: up to 32768; m and k are n if not given. And, for general kernels (unusual() names those given):
///           lda, ldb, ldc: elements from one stored row to the next, at least its length and up to 65535, which keeps
///           every index in 31 bits; alpha (1), beta (0): whole numbers from -8 to 8, so that sums of integers stay
///           exact; shift (0): every operand's first element lies that many elements from its 256-byte-aligned start.
///           For kernels that take it (Kernel::takes): layout, nn, nt or tn.
/// Operand 0 `A`, operand 1 `B`, inputs, or `A^T`, `B^T` where they are stored by columns: shift + (rows - 1) ld +
/// width elements. Operand 2 `C`, output, of as many; read as well if beta is not 0. What lies before the shift and
/// between the rows is NaN (kPoisonByte): it may not reach C, and C's must stay as it is.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <iterator>
#include <span>
#include <utility>

#include "common/problem/narrow_float.hpp"
#include "common/registry.hpp"

namespace rung {

struct Problem;

struct MatmulShape {
  int m = 0, n = 0, k = 0;
};

inline MatmulShape matmul_shape(const Params& p) {
  return {static_cast<int>(p.at("m")), static_cast<int>(p.at("n")), static_cast<int>(p.at("k"))};
}

/// Which of A and B is stored by columns, a column after the other: neither, B, or A.
enum class MatmulLayout { nn, nt, tn };
constexpr bool has_a_by_columns(MatmulLayout layout) { return layout == MatmulLayout::tn; }
constexpr bool has_b_by_columns(MatmulLayout layout) { return layout == MatmulLayout::nt; }

/// Whether the usual layout of inputs of this type has B stored by columns.
constexpr bool stores_b_by_columns(Type inputs) {
  return inputs == Type::tf32 || inputs == Type::fp8 || inputs == Type::int8;
}
constexpr MatmulLayout usual_layout(Type inputs) {
  return stores_b_by_columns(inputs) ? MatmulLayout::nt : MatmulLayout::nn;
}
inline MatmulLayout layout_of(const Params& p, Type inputs) {
  return static_cast<MatmulLayout>(p.get("layout", static_cast<std::int64_t>(usual_layout(inputs))));
}
/// The size "layout" of a layout: a word and its place.
Value layout_value(MatmulLayout layout);

/// What a call of a general kernel computes, as BLAS's gemm has it. With alpha = 0 neither A nor B is read, with beta =
/// 0 C is not: a NaN there does not show.
template <typename Input = float, typename Output = float>
struct Matmul {
  int m = 0, n = 0, k = 0;
  const Input* a = nullptr;
  const Input* b = nullptr;
  Output* c = nullptr;
  std::int64_t lda = 0, ldb = 0, ldc = 0;  ///< leading dimensions: elements from one row to the next
  float alpha = 1, beta = 0;
  MatmulLayout layout = MatmulLayout::nn;
};

/// The sizes that only general kernels take, and whether none of them is given.
inline constexpr const char* kGeneralSizes[] = {"lda", "ldb", "ldc", "alpha", "beta", "shift"};
inline bool has_no_general_size(const Params& p) {
  return std::none_of(std::begin(kGeneralSizes), std::end(kGeneralSizes),
                      [&](const char* name) { return p.has(name); });
}

/// The largest distance, in elements, by which the size "shift" moves all operands from their alignment.
constexpr int kMostShift = 63;

/// Throws Error if C shares memory with A or B.
void refuse_aliasing(const void* a, std::size_t a_bytes, const void* b, std::size_t b_bytes, const void* c,
                     std::size_t c_bytes);

/// Sizes, leading dimensions and factors; no operands.
template <typename Input = float, typename Output = float>
Matmul<Input, Output> matmul_sizes(const Params& params, MatmulLayout layout = MatmulLayout::nn) {
  const auto [m, n, k] = matmul_shape(params);
  return {.m = m,
          .n = n,
          .k = k,
          .lda = params.get("lda", has_a_by_columns(layout) ? m : k),
          .ldb = params.get("ldb", has_b_by_columns(layout) ? k : n),
          .ldc = params.get("ldc", n),
          .alpha = static_cast<float>(params.get("alpha", 1)),
          .beta = static_cast<float>(params.get("beta", 0)),
          .layout = layout};
}

/// The same with a call's operands. Throws Error if the output overlaps an input.
template <typename Input = float, typename Output = float>
Matmul<Input, Output> matmul_of(const Call& call, MatmulLayout layout = MatmulLayout::nn) {
  auto it = matmul_sizes<Input, Output>(call.params, layout);
  const std::int64_t shift = call.params.get("shift", 0);
  it.a = call.operand<const Input>(0) + shift;
  it.b = call.operand<const Input>(1) + shift;
  it.c = call.operand<Output>(2) + shift;
  const auto bytes = [](bool by_columns, std::int64_t rows, std::int64_t cols, std::int64_t ld, std::size_t element) {
    if (by_columns) std::swap(rows, cols);
    return static_cast<std::size_t>((rows - 1) * ld + cols) * element;
  };
  refuse_aliasing(it.a, bytes(has_a_by_columns(layout), it.m, it.k, it.lda, sizeof(Input)), it.b,
                  bytes(has_b_by_columns(layout), it.k, it.n, it.ldb, sizeof(Input)), it.c,
                  bytes(false, it.m, it.n, it.ldc, sizeof(Output)));
  return it;
}

/// C = beta C, which is all there is to do with alpha = 0. With beta = 0, C is not read.
template <typename Input>
void scale_output(const Matmul<Input>& it) {
  for (std::int64_t row = 0; row < it.m; ++row)
    for (std::int64_t col = 0; col < it.n; ++col) {
      float& element = it.c[row * it.ldc + col];
      element = it.beta == 0 ? 0 : it.beta * element;
    }
}

/// The same product for code that learns the types at run time.
template <typename Input, typename Output>
Matmul<void, void> untyped(const Matmul<Input, Output>& it) {
  return {.m = it.m,
          .n = it.n,
          .k = it.k,
          .a = it.a,
          .b = it.b,
          .c = it.c,
          .lda = it.lda,
          .ldb = it.ldb,
          .ldc = it.ldc,
          .alpha = it.alpha,
          .beta = it.beta,
          .layout = it.layout};
}

/// Useful operations of the product alone: one multiplication and one addition per element of the m x n x k cube.
inline double matmul_flops(const MatmulShape& s) { return 2.0 * s.m * s.n * s.k; }

/// The message for kernels that take square matrices only; empty if they are square.
inline std::string refuse_rectangular(const MatmulShape& s) {
  return s.m == s.n && s.n == s.k ? "" : "takes square matrices only: give --n alone, or use a rectangular kernel";
}

/// How the matrices of a product are stored. Without `round` and `widen` A and B are float32.
struct MatmulInputs {
  Type type = Type::fp32;
  std::function<void(std::span<const float> from, void* to)> round = {};  ///< stores numbers in this format
  std::function<void(const void* from, std::span<float> to)> widen = {};  ///< the float32 of what is stored, exactly;
                                                                          ///< empty if that is what is stored
  Type output = Type::fp32;                                               ///< of C: fp32 or int32
  bool only_whole = false;   ///< has no reals: whole numbers are timed, too
  int least = -8, most = 8;  ///< of the whole numbers
  double slack = 1;          ///< by which the rounding-error bound of float32 sums is multiplied
  /// The matrix unit may round to `unit` each sum of up to `terms` terms; only these are then added in float32.
  double unit = 0;
  int terms = 0;
};

/// Numbers that are stored as `Stored`, by their conversions; products are exact in float32, sums not: the bound has a
/// factor of 2, since the adders of matrix units may truncate (Blanchard, Higham, Lopez, Mary, Pranesh: Mixed Precision
/// Block Fused Multiply-Add, SISC 2020).
template <typename Stored>
MatmulInputs narrow_inputs(Type type, Stored (*narrow)(float), float (*widen)(Stored)) {
  const auto round_all = [narrow](std::span<const float> from, void* to) {
    auto* stored = static_cast<Stored*>(to);
    const auto count = static_cast<std::int64_t>(from.size());
#pragma omp parallel for
    for (std::int64_t i = 0; i < count; ++i) stored[i] = narrow(from[i]);
  };
  const auto widen_all = [widen](const void* from, std::span<float> to) {
    const auto* stored = static_cast<const Stored*>(from);
    const auto count = static_cast<std::int64_t>(to.size());
#pragma omp parallel for
    for (std::int64_t i = 0; i < count; ++i) to[i] = widen(stored[i]);
  };
  return {.type = type, .round = round_all, .widen = widen_all, .slack = 2};
}

/// The product of matrices that are stored like this, to be added with add_problem().
Problem matmul_problem(const MatmulInputs& inputs);

}  // namespace rung
