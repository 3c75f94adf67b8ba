/// The intrinsics that round correctly: the special function unit's result, and the multiply-adds that make the last
/// bit right. They show the cost of an error of half a unit compared with one or two units.
#include "gpu/math/implementation.hpp"

namespace rung {
namespace {

struct Rounded {
  static constexpr bool has(MathFunction f) {
    return f == MathFunction::rsqrt || f == MathFunction::reciprocal || f == MathFunction::divide;
  }

  template <MathFunction kFunction>
  static __device__ __forceinline__ reg<float> of(const reg<float>& x, const reg<float>& y) {
    if constexpr (kFunction == MathFunction::rsqrt) return __frsqrt_rn(x);
    if constexpr (kFunction == MathFunction::reciprocal) return __frcp_rn(x);
    if constexpr (kFunction == MathFunction::divide) return __fdiv_rn(x, y);
  }

  template <MathFunction>
  static __device__ __forceinline__ double bound(float, float, double want) {
    return kRounded * ulp(want);
  }
};

const bool added = add_math<Rounded>({
    .name = "gpu/math/rounded",
    .order = 30,
    .title = "correctly rounded",
    .idea = "__frsqrt_rn, __frcp_rn, __fdiv_rn: refined until the last bit is right.",
    .source = {{"cuda-guide", "mathematical functions, intrinsic functions"}},
});

}  // namespace
}  // namespace rung
