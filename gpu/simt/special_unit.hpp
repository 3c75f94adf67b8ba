/// Instructions of the special function unit that CUDA C++ does not offer, or only in combination with others: PTX's
/// .approx.ftz, one instruction each (sin and cos: after a multiplication). Subnormal arguments and results are flushed
/// to zero. The emulator models them in the same way as the intrinsics that use them.
/// Source: NVIDIA PTX ISA.
#pragma once

#include "gpu/simt/simt.hpp"

namespace rung {

#ifdef __CUDACC__

#define RUNG_SPECIAL_UNIT(name, instruction)                            \
  __device__ __forceinline__ float special_##name(float x) {            \
    float result;                                                       \
    asm(instruction ".approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x)); \
    return result;                                                      \
  }
RUNG_SPECIAL_UNIT(exp2, "ex2")
RUNG_SPECIAL_UNIT(log2, "lg2")
RUNG_SPECIAL_UNIT(sin, "sin")
RUNG_SPECIAL_UNIT(cos, "cos")
RUNG_SPECIAL_UNIT(rsqrt, "rsqrt")
RUNG_SPECIAL_UNIT(reciprocal, "rcp")

#else

inline namespace RUNG_EMULATION {

/// x, or 0 if it is subnormal.
RUNG_UNTRACED inline float flushed(float x) {
  return std::fabs(x) < std::numeric_limits<float>::min() ? std::copysign(0.0f, x) : x;
}

#define RUNG_SPECIAL_UNIT(name, model)                            \
  template <NumberLike X>                                         \
  RUNG_INLINE Result<float, X> special_##name(const X& operand) { \
    const float x = flushed(static_cast<float>(scalar(operand))); \
    tally_special<float, X>();                                    \
    return flushed(model);                                        \
  }
RUNG_SPECIAL_UNIT(exp2, unit_exp2(x))
RUNG_SPECIAL_UNIT(log2, unit_log2(x))
RUNG_SPECIAL_UNIT(sin, unit_sin(x* kInverseTwoPi))
RUNG_SPECIAL_UNIT(cos, unit_cos(x* kInverseTwoPi))
RUNG_SPECIAL_UNIT(rsqrt, reduced_precision(1 / std::sqrt(static_cast<double>(x)), 1))
RUNG_SPECIAL_UNIT(reciprocal, unit_reciprocal(x))

}  // namespace RUNG_EMULATION

#endif
#undef RUNG_SPECIAL_UNIT

}  // namespace rung
