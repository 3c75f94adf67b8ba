/// cuBLAS and cublasLt, for the peer rungs. This header compiles without CUDA.
#pragma once

#include <string>

#include "common/problem/matmul.hpp"
#include "common/registry.hpp"

namespace rung {

/// C = alpha A B + beta C in row-major order with cuBLAS, on call.stream, with a workspace of 64 MiB. A and B are of
/// `type`, fp32 in full FP32, no TF32; C and the sums have the types of that problem. Throws Error where the program
/// was built without CUDA or where cuBLAS fails, LaunchRefused where it has no kernel for the product.
void cublas_matmul(const Call& call, const Matmul<void, void>& it, Type type);

/// The same with cublasLt: the fastest of the algorithms that its heuristics propose, 16 at most. The first call for a
/// shape times them, writing to a separate C. Throws as above, LaunchRefused if none is proposed.
void cublaslt_matmul(const Call& call, const Matmul<void, void>& it, Type type);

/// The libraries require rows of a multiple of this many elements: of 16 bytes in FP8, of 4 bytes in INT8. Products in
/// these types have no leading dimensions, shifts or factors here, which the libraries support only in part.
constexpr int library_unit(Type type) { return type == Type::fp8 ? 16 : type == Type::int8 ? 4 : 1; }

/// The lowest compute capability whose tensor cores multiply this type. On an older GPU the libraries compute with
/// another type, or not at all.
constexpr int library_capability(Type type) {
  return type == Type::fp8 ? 89 : type == Type::bf16 || type == Type::tf32 ? 80 : 0;
}

inline std::string refuse_by_library(const Params& p, Type type) {
  const auto [m, n, k] = matmul_shape(p);
  const int unit = library_unit(type);
  if (has_a_by_columns(layout_of(p, type)) && m % unit)
    return "the library takes m that are multiples of " + std::to_string(unit);
  return n % unit || k % unit ? "the library takes n and k that are multiples of " + std::to_string(unit) : "";
}

/// B = A^T in row-major float32, A of rows x cols, with cuBLAS on call.stream. Throws Error as cublas_sgemm does.
void cublas_transpose(const Call& call, const float* a, float* b, int rows, int cols);

/// "13.0.2"; empty where the program was built without CUDA.
std::string cublas_version();

}  // namespace rung
