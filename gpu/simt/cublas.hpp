/// cuBLAS and cublasLt, for the peer rungs. This header compiles without CUDA.
#pragma once

#include <string>

#include "common/problem/matmul.hpp"
#include "common/registry.hpp"

namespace rung {

/// C = alpha A B + beta C in row-major order with cuBLAS, on call.stream, with a workspace of 64 MiB. A and B are of
/// `type`, fp32 in full FP32, no TF32; their orders, C and the sums are those of the type's problem. Throws Error where
/// the program was built without CUDA or where cuBLAS fails.
void cublas_matmul(const Call& call, const Matmul<void, void>& it, Type type);

/// The same with cublasLt: the fastest of the algorithms that its heuristics propose, 16 at most. The first call for a
/// shape times them, writing to a separate C. Throws Error as above, or if none is proposed.
void cublaslt_matmul(const Call& call, const Matmul<void, void>& it, Type type);

/// What the libraries do not take: products of 8-bit numbers whose rows are not aligned to 16 bytes (FP8) or 4 bytes
/// (INT8), INT8 with other factors than 0 and 1. Empty if they take it.
inline std::string refuse_by_library(const Params& p, Type type) {
  const int unit = type == Type::fp8 ? 16 : type == Type::int8 ? 4 : 1;
  const auto it = matmul_sizes(p, stores_b_by_columns(type));
  if (it.n % unit || it.k % unit || it.lda % unit || it.ldb % unit || it.ldc % unit || p.get("shift", 0) % unit)
    return "the library takes n, k and rows that are multiples of " + std::to_string(unit);
  if (type == Type::int8 && (it.alpha != 1 || (it.beta != 0 && it.beta != 1)))
    return "the library takes alpha = 1 and beta = 0 or 1 only";
  return "";
}

/// B = A^T in row-major float32, A of rows x cols, with cuBLAS on call.stream. Throws Error as cublas_sgemm does.
void cublas_transpose(const Call& call, const float* a, float* b, int rows, int cols);

/// "13.0.2"; empty where the program was built without CUDA.
std::string cublas_version();

}  // namespace rung
