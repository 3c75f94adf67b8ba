/// CUDA's mathematical library: right to a unit or two in the last place for every argument. Some functions are a few
/// instructions around the special function unit; sin, cos and tan reduce the argument first, for arguments beyond 10^5
/// by a long multiplication with many digits of 2 / pi, in local memory; pow keeps its logarithm in two float32.
/// Division is correctly rounded.
#include "gpu/math/implementation.hpp"

namespace rung {
namespace {

struct Library {
  static constexpr bool has(MathFunction) { return true; }

  template <MathFunction kFunction>
  static __device__ __forceinline__ reg<float> of(const reg<float>& x, const reg<float>& y) {
    if constexpr (kFunction == MathFunction::exp) return expf(x);
    if constexpr (kFunction == MathFunction::exp2) return exp2f(x);
    if constexpr (kFunction == MathFunction::log) return logf(x);
    if constexpr (kFunction == MathFunction::sin) return sinf(x);
    if constexpr (kFunction == MathFunction::cos) return cosf(x);
    if constexpr (kFunction == MathFunction::tan) return tanf(x);
    if constexpr (kFunction == MathFunction::pow) return powf(x, y);
    if constexpr (kFunction == MathFunction::rsqrt) return rsqrtf(x);
    if constexpr (kFunction == MathFunction::reciprocal) return 1 / x;
    if constexpr (kFunction == MathFunction::divide) return x / y;
    if constexpr (kFunction == MathFunction::none) return x;
  }

  /// The guide states errors relative to the correctly rounded result, for all arguments.
  static __device__ constexpr double ulps(MathFunction f) {
    switch (f) {
      case MathFunction::exp:
      case MathFunction::exp2:
      case MathFunction::sin:
      case MathFunction::cos:
      case MathFunction::rsqrt:
        return 2;
      case MathFunction::log:
        return 1;
      case MathFunction::tan:
      case MathFunction::pow:
        return 4;
      default:
        return 0;
    }
  }
  template <MathFunction kFunction>
  static __device__ __forceinline__ double bound(float, float, double want) {
    constexpr double kUlps = ulps(kFunction) + kRounded;
    return kUlps * ulp(want);
  }
};

const bool added = add_math<Library>({
    .name = "gpu/math/library",
    .order = 10,
    .title = "library",
    .idea = "CUDA's mathematical functions, accurate for every argument.",
    .source = {{"cuda-guide", "mathematical functions, standard functions"}},
});

}  // namespace
}  // namespace rung
