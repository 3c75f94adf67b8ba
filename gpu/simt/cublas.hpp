/// The library behind the peer rungs, in a form that compiles where there is no CUDA.
#pragma once

#include "common/registry.hpp"

namespace rung {

/// C = A B in row-major float32 with cuBLAS in full FP32 (no TF32), on call.stream, with a 64 MB workspace.
/// Throws Error where the program was built without CUDA or where cuBLAS fails.
void cublas_sgemm(const Call& call, int m, int n, int k, const void* a, const void* b, void* c);

/// "13.0.2"; empty where the program was built without CUDA.
std::string cublas_version();

}  // namespace rung
