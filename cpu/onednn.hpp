/// oneDNN, for two peer rungs. This header compiles without oneDNN.
#pragma once

#include <string>

#include "common/problem/matmul.hpp"

namespace rung {

/// "oneDNN 2.6.3", or "oneDNN (not in this build)".
std::string onednn_name();

/// Why oneDNN cannot multiply matrices of these inputs, float or Bf16, and sizes: this program was built without it, it
/// is not built on OpenMP, it has no code for this CPU, or it takes a strided column for a dense one (oneDNN 3.6 does
/// where n is 1). Empty if it can.
template <typename Input>
std::string refuse_onednn(const Params& sizes);

/// C = alpha A B + beta C with OpenMP's number of threads. Throws Error if oneDNN fails or is not in this build.
template <typename Input>
void matmul_onednn(const Matmul<Input>& it);

}  // namespace rung
