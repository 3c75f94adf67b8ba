/// The intrinsics: the special function unit's instruction and, where it computes a related function, a multiplication.
/// The loss of accuracy differs: __expf loses with the size of its argument, whose rounding is multiplied; __logf near
/// 1, __sinf near multiples of pi and __cosf near odd multiples of pi / 2 have a fixed number of correct bits after the
/// point, so no correct digit where the result is near 0; __sinf and __cosf are for small arguments.
#include "gpu/math/implementation.hpp"

namespace rung {
namespace {

struct Intrinsic {
  static constexpr bool has(MathFunction f) {
    return f != MathFunction::exp2 && f != MathFunction::rsqrt && f != MathFunction::none;
  }

  template <MathFunction kFunction>
  static __device__ __forceinline__ reg<float> of(const reg<float>& x, const reg<float>& y) {
    if constexpr (kFunction == MathFunction::exp) return __expf(x);
    if constexpr (kFunction == MathFunction::log) return __logf(x);
    if constexpr (kFunction == MathFunction::sin) return __sinf(x);
    if constexpr (kFunction == MathFunction::cos) return __cosf(x);
    if constexpr (kFunction == MathFunction::tan) return __tanf(x);
    if constexpr (kFunction == MathFunction::pow) return __powf(x, y);
    if constexpr (kFunction == MathFunction::reciprocal) return __fdividef(1, x);
    if constexpr (kFunction == MathFunction::divide) return __fdividef(x, y);
  }

  static constexpr double kSin = 0x1.8142p-22, kCos = 0x1.c0dcp-22;  // 2^-21.41 and 2^-21.19, rounded up
  static constexpr double kPi = 3.14159265358979;

  template <MathFunction kFunction>
  static __device__ __forceinline__ double bound(float x, float y, double want) {
    if constexpr (kFunction == MathFunction::exp) return (2 + std::floor(std::fabs(1.173 * x)) + kRounded) * ulp(want);
    if constexpr (kFunction == MathFunction::log) return x >= 0.5f && x <= 2 ? kSin : (3 + kRounded) * ulp(want);
    if constexpr (kFunction == MathFunction::sin) return std::fabs(x) <= kPi ? kSin : kNoBound;
    if constexpr (kFunction == MathFunction::cos) return std::fabs(x) <= kPi ? kCos : kNoBound;
    if constexpr (kFunction == MathFunction::tan) return of_tan(x, want);
    if constexpr (kFunction == MathFunction::pow) return of_pow(x, y, want);
    if constexpr (kFunction == MathFunction::reciprocal) return is_divisor(x) ? (2 + kRounded) * ulp(want) : kNoBound;
    if constexpr (kFunction == MathFunction::divide) return is_divisor(y) ? (2 + kRounded) * ulp(want) : kNoBound;
  }

  static __device__ __forceinline__ bool is_divisor(float y) {
    return std::fabs(y) >= 0x1p-126f && std::fabs(y) <= 0x1p126f;
  }
  /// The guide derives __tanf from its parts: (s + ds) / (c + dc), and the error of the division.
  static __device__ __forceinline__ double of_tan(float x, double want) {
    if (!(std::fabs(x) <= kPi)) return kNoBound;
    const double cosine = std::fabs(std::cos(static_cast<double>(x)));
    if (!(cosine > 2 * kCos)) return kNoBound;
    return (kSin + std::fabs(want) * kCos) / (cosine - kCos) + (3 + kRounded) * ulp(want);
  }
  /// And __powf: exp2(y log2(x)). An error of the logarithm is multiplied by y, and is a factor of the result.
  static __device__ __forceinline__ double of_pow(float x, float y, double want) {
    if (!(x > 0) || std::isinf(x) || std::isinf(y)) return kNoBound;
    const double logarithm = std::log2(static_cast<double>(x)), exponent = y * logarithm;
    const double of_log = x >= 0.5f && x <= 2 ? 0x1p-22 : (2 + kRounded) * ulp(logarithm);
    const double of_exponent = std::fabs(static_cast<double>(y)) * of_log + ulp(exponent);
    if (!(of_exponent < 1)) return kNoBound;
    return want * (std::exp2(of_exponent) - 1) + (2 + kRounded) * ulp(want);
  }
};

const bool added = add_math<Intrinsic>({
    .name = "gpu/math/intrinsic",
    .order = 20,
    .title = "intrinsic",
    .idea = "__expf, __sinf, __fdividef …: the special function unit and at most a few instructions around it.",
    .source = {{"cuda-guide", "mathematical functions, intrinsic functions"}, {"zhou2015", "math functions"}},
});

}  // namespace
}  // namespace rung
