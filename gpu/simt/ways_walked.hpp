/// How many ways of a branch the warps walk, as the emulator counts it: a call in each way is one request to constant
/// memory by the lanes that came there. In an unnamed namespace: each of the three builds of a kernel's file has its
/// own.
#pragma once

#include "gpu/simt/simt.hpp"

namespace rung {
namespace {

__constant__ mem<int> way_walked[1];

/// A read that the emulator counts. Nobody asks for the value, so the GPU's compiler leaves it out.
__device__ __forceinline__ void count_way() { [[maybe_unused]] const int value = way_walked[0]; }

}  // namespace
}  // namespace rung
