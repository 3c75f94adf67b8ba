/// The special function unit alone: one instruction per result, with subnormal numbers taken as 0. Its rate, a quarter
/// of the arithmetic units' or less, is the roof of every function built on it.
#include "gpu/math/implementation.hpp"
#include "gpu/simt/special_unit.hpp"

namespace rung {
namespace {

struct Unit {
  static constexpr bool has(MathFunction f) {
    return f == MathFunction::exp2 || f == MathFunction::log || f == MathFunction::sin || f == MathFunction::cos ||
           f == MathFunction::rsqrt || f == MathFunction::reciprocal;
  }

  template <MathFunction kFunction>
  static __device__ __forceinline__ reg<float> of(const reg<float>& x, const reg<float>&) {
    if constexpr (kFunction == MathFunction::exp2) return special_exp2(x);
    if constexpr (kFunction == MathFunction::log) return special_log2(x) * 0.693147180559945f;
    if constexpr (kFunction == MathFunction::sin) return special_sin(x);
    if constexpr (kFunction == MathFunction::cos) return special_cos(x);
    if constexpr (kFunction == MathFunction::rsqrt) return special_rsqrt(x);
    if constexpr (kFunction == MathFunction::reciprocal) return special_reciprocal(x);
  }

  /// For normal arguments with normal results.
  template <MathFunction kFunction>
  static __device__ __forceinline__ double bound(float x, float, double want) {
    if (!(std::fabs(x) >= 0x1p-126f || x == 0) || !(std::fabs(want) >= 0x1p-126 || want == 0)) return kNoBound;
    if constexpr (kFunction == MathFunction::sin || kFunction == MathFunction::cos)
      return std::fabs(x) <= 3.14159265358979 ? 0x1.6a0ap-21 : kNoBound;  // 2^-20.5
    const double near_one = kFunction == MathFunction::log && x >= 0.5f && x <= 2 ? 0x1p-22 : 0;
    return near_one + (3 + kRounded) * ulp(want);
  }
};

const bool added = add_math<Unit>({
    .name = "gpu/math/unit",
    .order = 40,
    .title = "special function unit",
    .idea = "One instruction of the special function unit, subnormal numbers as 0: the roof of the intrinsics.",
    .source = {{"ptx-isa", "ex2, lg2, sin, cos, rsqrt, rcp with .approx.ftz"}},
});

}  // namespace
}  // namespace rung
