/// launch_together() and launch_with(), for kernels whose blocks also wait for later blocks: all blocks have to be
/// resident at once. On the GPU this is a cooperative launch, which is refused where they do not fit, so that no block
/// waits for one that never starts. In the emulator the blocks' execution is interleaved.
#pragma once

#include "gpu/simt/simt.hpp"
#ifndef __CUDACC__
#include "common/emulator/turns.hpp"
#endif

namespace rung {

/// What a launch needs beyond its shape.
struct LaunchNeeds {
  bool early = false;        ///< may start before the previous kernel has ended (programmatic dependent launch)
  int cluster = 1;           ///< blocks of a cluster
  bool blocks_wait = false;  ///< also for later blocks: all must be resident at once
};

#ifdef __CUDACC__

inline namespace cuda {

/// As launch(), with these needs. The kernel itself declares the size of its clusters.
template <typename... Parameters, typename... Arguments>
void launch_with(const LaunchNeeds& needs, const Call& call, void (*kernel)(Parameters...), Arguments... arguments) {
  launch_after(needs.early, call, kernel, arguments...);
}

/// As launch(). Throws LaunchRefused if the GPU does not hold all blocks at once.
template <typename... Parameters, typename... Arguments>
void launch_together(const Call& call, void (*kernel)(Parameters...), Arguments... arguments) {
  launch_as(LaunchKind::cooperative, call, kernel, arguments...);
}

}  // namespace cuda

#else

inline namespace RUNG_EMULATION {

/// As launch(), with these needs. Throws Error if blocks wait for each other and there are more than the emulator runs
/// at once.
template <typename... Parameters, typename... Arguments>
void launch_with(const LaunchNeeds& needs, const Call& call, void (*kernel)(Parameters...), Arguments... arguments) {
  if (needs.cluster == 1 && !needs.blocks_wait) return launch(call, kernel, arguments...);
  const Together together(static_cast<unsigned>(needs.cluster));
  launch(call, kernel, arguments...);
}

/// As launch(). Throws Error if there are more blocks than the emulator runs at once.
template <typename... Parameters, typename... Arguments>
void launch_together(const Call& call, void (*kernel)(Parameters...), Arguments... arguments) {
  const Together together;
  launch(call, kernel, arguments...);
}

}  // namespace RUNG_EMULATION

#endif

}  // namespace rung
