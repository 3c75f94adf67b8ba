/// The library behind two peer rungs, in a form that compiles where there is no oneDNN.
#pragma once

#include <string>

#include "common/problem/matmul.hpp"

namespace rung {

/// "oneDNN 2.6.3", or "oneDNN (not in this build)".
std::string onednn_name();

/// Why oneDNN does not multiply matrices of such inputs, float or Bf16, here: this program was built without it, it is
/// not built on OpenMP, or it has no code for this CPU. Empty if it does.
template <typename Input>
std::string refuse_onednn();

/// C = alpha A B + beta C with as many threads as OpenMP has. Throws Error where oneDNN fails or is not in this build.
template <typename Input>
void matmul_onednn(const Matmul<Input>& it);

}  // namespace rung
