/// How many paths of a branch the warps execute, as the emulator counts it: a call in each path is one request to
/// constant memory by the lanes on that path. In an unnamed namespace, so that each of the three builds of a kernel's
/// file has its own copy.
#pragma once

#include "gpu/simt/simt.hpp"

namespace rung {
namespace {

__constant__ mem<int> way_walked[1];

/// A read that the emulator counts. The value is not used, so the GPU's compiler removes it.
__device__ __forceinline__ void count_way() { [[maybe_unused]] const int value = way_walked[0]; }

}  // namespace
}  // namespace rung
