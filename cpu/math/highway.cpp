/// Google Highway's functions, written once for every width of vectors and inlined into the loop. It has no power and
/// no tangent; here the tangent is the quotient of sine and cosine. Reciprocals start from the CPU's estimate of 12
/// bits or more, which one step of Newton's method doubles: no division, and not correctly rounded. Outside the ranges
/// that Highway states results are arbitrary: its logarithm of a negative number is a number.
#ifdef RUNG_HIGHWAY
#define HWY_COMPILE_ONLY_STATIC  // for the CPU that the file is compiled for, like the rest of it
#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>
#endif

#include "cpu/math/implementation.hpp"

namespace rung {
namespace {

const Kernel kRecord{
    .name = "cpu/math/highway",
    .order = 30,
    .title = "Highway",
    .idea = "Google Highway's vector functions, inlined; reciprocals by an estimate and one step of Newton's method.",
    .source = {{"highway", "hwy/contrib/math"}},
    .is_library = true,
};

#ifdef RUNG_HIGHWAY

namespace hn = hwy::HWY_NAMESPACE;
using Floats = hn::ScalableTag<float>;
using FloatsOf = hn::Vec<Floats>;

struct Highway {
  static constexpr bool has(MathFunction f) {
    return f != MathFunction::exp2 && f != MathFunction::pow && f != MathFunction::none;
  }

  template <MathFunction kFunction>
  static FloatsOf some(FloatsOf x, FloatsOf y) {
    const Floats d;
    if constexpr (kFunction == MathFunction::exp) return hn::Exp(d, x);
    if constexpr (kFunction == MathFunction::log) return hn::Log(d, x);
    if constexpr (kFunction == MathFunction::sin) return hn::Sin(d, x);
    if constexpr (kFunction == MathFunction::cos) return hn::Cos(d, x);
    if constexpr (kFunction == MathFunction::tan) return hn::Div(hn::Sin(d, x), hn::Cos(d, x));
    if constexpr (kFunction == MathFunction::divide) return hn::Div(x, y);
    if constexpr (kFunction == MathFunction::reciprocal) {
      const auto guess = hn::ApproximateReciprocal(x);
      return hn::MulAdd(guess, hn::NegMulAdd(x, guess, hn::Set(d, 1.0f)), guess);
    }
    if constexpr (kFunction == MathFunction::rsqrt) {
      const auto guess = hn::ApproximateReciprocalSqrt(x);
      const auto rest = hn::NegMulAdd(hn::Mul(x, guess), guess, hn::Set(d, 1.0f));
      return hn::MulAdd(hn::Mul(guess, hn::Set(d, 0.5f)), rest, guess);
    }
  }

  template <MathFunction kFunction>
  static void of(const float* x, const float* y, float* result) {
    const Floats d;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    for (std::int64_t i = 0; i < kMathBlock; i += lanes)
      hn::Store(some<kFunction>(hn::Load(d, x + i), hn::Load(d, y + i)), d, result + i);
  }

  template <MathFunction kFunction>
  static double bound(float x, float, double want) {
    const double size = std::fabs(x);
    const bool is_normal = size >= 0x1p-126 && size < 0x1p128;
    if constexpr (kFunction == MathFunction::exp) return size <= 104 ? (1 + kRounded) * ulp(want) : kNoBound;
    if constexpr (kFunction == MathFunction::log) return x > 0 && is_normal ? (4 + kRounded) * ulp(want) : kNoBound;
    if constexpr (kFunction == MathFunction::sin || kFunction == MathFunction::cos)
      return size <= 39000 ? (3 + kRounded) * ulp(want) : kNoBound;
    if constexpr (kFunction == MathFunction::tan) return size <= 39000 ? (7 + 3 * kRounded) * ulp(want) : kNoBound;
    if constexpr (kFunction == MathFunction::divide) return kRounded * ulp(want);
    if constexpr (kFunction == MathFunction::reciprocal)
      return is_normal && size <= 0x1p125 ? (1 + kRounded) * ulp(want) : kNoBound;
    if constexpr (kFunction == MathFunction::rsqrt) return x > 0 && is_normal ? (2 + kRounded) * ulp(want) : kNoBound;
  }
};

const bool added = add_math<Highway>(kRecord);

#else

const bool added = add_absent_math(kRecord, "built without Highway: install libhwy-dev and build again");

#endif

}  // namespace
}  // namespace rung
