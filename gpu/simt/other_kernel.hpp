/// A kernel whose .run calls another kernel of the registry on the same device: on the GPU by that kernel's .run, in
/// the emulator by its body in the same build.
#pragma once

#include "gpu/simt/simt.hpp"

namespace rung {
inline namespace RUNG_BUILD {

/// The function that executes `kernel` in this build. Throws Error if there is none.
inline const std::function<void(const Call&)>& body_of(const Kernel& kernel) {
#if defined(__CUDACC__)
  const auto& body = kernel.run;
#elif defined(RUNG_PLAIN_EMULATION)
  const auto& body = kernel.gpu.answer;
#else
  const auto& body = kernel.gpu.emulate;
#endif
  if (!body) throw Error(kernel.name + " cannot be executed here");
  return body;
}

}  // namespace RUNG_BUILD
}  // namespace rung
