/// launch_together() for kernels whose blocks wait for each other both ways, for later blocks too: all of them have to
/// be on the GPU at once. On the GPU it is a cooperative launch, which is refused where they do not fit, so that none
/// can wait for a block that never starts. In the emulator the blocks take turns.
#pragma once

#include "gpu/simt/simt.hpp"
#ifndef __CUDACC__
#include "common/emulator/turns.hpp"
#endif

namespace rung {

#ifdef __CUDACC__

inline namespace cuda {

/// As launch(). Throws LaunchRefused if the GPU does not hold all blocks at once.
template <typename... Parameters, typename... Arguments>
void launch_together(const Call& call, void (*kernel)(Parameters...), Arguments... arguments) {
  launch_as(LaunchKind::cooperative, call, kernel, arguments...);
}

}  // namespace cuda

#else

inline namespace RUNG_EMULATION {

/// As launch(). Throws Error if there are more blocks than the emulator runs at once.
template <typename... Parameters, typename... Arguments>
void launch_together(const Call& call, void (*kernel)(Parameters...), Arguments... arguments) {
  const Together together;
  launch(call, kernel, arguments...);
}

}  // namespace RUNG_EMULATION

#endif

}  // namespace rung
