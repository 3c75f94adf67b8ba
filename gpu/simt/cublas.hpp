/// cuBLAS and cublasLt, for the peer rungs. This header compiles without CUDA.
#pragma once

#include "common/problem/matmul.hpp"
#include "common/registry.hpp"

namespace rung {

/// C = alpha A B + beta C in row-major order with cuBLAS, on call.stream, with a workspace of 64 MiB. A and B are of
/// `type`, fp32 (in full FP32, no TF32), bf16 or fp16; C and the sums are float32. Throws Error where the program was
/// built without CUDA or where cuBLAS fails.
void cublas_matmul(const Call& call, const Matmul<void>& it, Type type);

/// The same with cublasLt: the fastest of the algorithms that its heuristics propose, 16 at most. The first call for a
/// shape times them, writing to a separate C. Throws Error as above, or if none is proposed.
void cublaslt_matmul(const Call& call, const Matmul<void>& it, Type type);

/// B = A^T in row-major float32, A of rows x cols, with cuBLAS on call.stream. Throws Error as cublas_sgemm does.
void cublas_transpose(const Call& call, const float* a, float* b, int rows, int cols);

/// "13.0.2"; empty where the program was built without CUDA.
std::string cublas_version();

}  // namespace rung
