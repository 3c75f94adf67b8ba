/// Launches from kernels (dynamic parallelism). A file that uses them is called NAME.rdc.cu: it is compiled to
/// relocatable device code and linked with the device's runtime library, which the other files need not be. The
/// emulator does not support them. Source: NVIDIA, CUDA C++ Programming Guide, "CUDA dynamic parallelism".
#pragma once

#include "gpu/simt/simt.hpp"

namespace rung {

#ifdef __CUDACC__

inline namespace cuda {

/// Starts `kernel` after the kernels that this block launched before by this function. The launching grid counts as
/// ended only when `kernel` has ended, too.
template <typename... Parameters, typename... Arguments>
__device__ __forceinline__ void launch_in_order(unsigned blocks, unsigned threads, void (*kernel)(Parameters...),
                                                Arguments... arguments) {
  kernel<<<blocks, threads>>>(arguments...);
}

/// Starts `kernel` once the launching grid and all kernels that it launched have ended. Call it from one thread.
template <typename... Parameters, typename... Arguments>
__device__ __forceinline__ void launch_at_end(unsigned blocks, unsigned threads, void (*kernel)(Parameters...),
                                              Arguments... arguments) {
  kernel<<<blocks, threads, 0, cudaStreamTailLaunch>>>(arguments...);
}

}  // namespace cuda

#else

inline namespace RUNG_EMULATION {

template <typename... Parameters, typename... Arguments>
void launch_in_order(unsigned, unsigned, void (*)(Parameters...), Arguments...) {
  fail_thread(finding_kind::not_emulated, "a launch from a kernel");
}
template <typename... Parameters, typename... Arguments>
void launch_at_end(unsigned, unsigned, void (*)(Parameters...), Arguments...) {
  fail_thread(finding_kind::not_emulated, "a launch from a kernel");
}

}  // namespace RUNG_EMULATION

#endif

}  // namespace rung
