/// OpenBLAS, for a peer rung. This header compiles without OpenBLAS.
#pragma once

#include <string>

#include "common/problem/matmul.hpp"

namespace rung {

/// "OpenBLAS 0.3.21", or "OpenBLAS (not in this build)".
std::string openblas_name();

/// Why there is no OpenBLAS; empty if there is.
std::string refuse_openblas();

/// C = alpha A B + beta C with OpenMP's number of threads. Throws Error if OpenBLAS uses another number or is not in
/// this build.
void matmul_openblas(const Matmul<>& it);

}  // namespace rung
