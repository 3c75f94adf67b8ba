/// cuBLAS and cublasLt, for the peer rungs. This header compiles without CUDA.
#pragma once

#include "common/problem/matmul.hpp"
#include "common/registry.hpp"

namespace rung {

/// C = alpha A B + beta C in row-major float32 with cuBLAS in full FP32 (no TF32), on call.stream, with a workspace of
/// 64 MiB. Throws Error where the program was built without CUDA or where cuBLAS fails.
void cublas_sgemm(const Call& call, const Matmul<>& it);

/// The same with cublasLt: the fastest of the 8 algorithms that its heuristics propose. The first call for a shape
/// times them, writing to a separate C. Throws Error as above, or if none is proposed.
void cublaslt_sgemm(const Call& call, const Matmul<>& it);

/// B = A^T in row-major float32, A of rows x cols, with cuBLAS on call.stream. Throws Error as cublas_sgemm does.
void cublas_transpose(const Call& call, const float* a, float* b, int rows, int cols);

/// "13.0.2"; empty where the program was built without CUDA.
std::string cublas_version();

}  // namespace rung
