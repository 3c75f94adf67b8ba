/// oneDNN, for two peer rungs. This header compiles without oneDNN.
#pragma once

#include <string>

#include "common/problem/matmul.hpp"

namespace rung {

/// "oneDNN 2.6.3", or "oneDNN (not in this build)".
std::string onednn_name();

/// Why oneDNN cannot multiply matrices of these inputs, float or Bf16: this program was built without it, it is not
/// built on OpenMP, or it has no code for this CPU. Empty if it can.
template <typename Input>
std::string refuse_onednn();

/// C = alpha A B + beta C with as many threads as OpenMP has. Throws Error if oneDNN fails or is not in this build.
template <typename Input>
void matmul_onednn(const Matmul<Input>& it);

}  // namespace rung
