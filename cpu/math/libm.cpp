/// The C library's functions, one call per element: right to less than a unit in the last place, and a core works on
/// one argument at a time. Division and square root are not functions of the library but instructions of the CPU,
/// correctly rounded, and vectorised if the compiler does so.
#include "cpu/math/implementation.hpp"

namespace rung {
namespace {

struct Libm {
  static constexpr bool has(MathFunction) { return true; }

  template <MathFunction kFunction>
  static float one(float x, float y) {
    if constexpr (kFunction == MathFunction::exp) return std::exp(x);
    if constexpr (kFunction == MathFunction::exp2) return std::exp2(x);
    if constexpr (kFunction == MathFunction::log) return std::log(x);
    if constexpr (kFunction == MathFunction::sin) return std::sin(x);
    if constexpr (kFunction == MathFunction::cos) return std::cos(x);
    if constexpr (kFunction == MathFunction::tan) return std::tan(x);
    if constexpr (kFunction == MathFunction::pow) return std::pow(x, y);
    if constexpr (kFunction == MathFunction::rsqrt) return 1 / std::sqrt(x);
    if constexpr (kFunction == MathFunction::reciprocal) return 1 / x;
    if constexpr (kFunction == MathFunction::divide) return x / y;
    if constexpr (kFunction == MathFunction::none) return x;
  }

  template <MathFunction kFunction>
  static void of(const float* x, const float* y, float* result) {
    for (std::int64_t i = 0; i < kMathBlock; ++i) result[i] = one<kFunction>(x[i], y[i]);
  }

  /// The manual states errors relative to the correctly rounded result. A reciprocal square root is rounded twice: half
  /// a unit of the root is up to one unit of its reciprocal.
  template <MathFunction kFunction>
  static double bound(float, float, double want) {
    constexpr bool kOneRounding = kFunction == MathFunction::reciprocal || kFunction == MathFunction::divide;
    return (kRounded + (kOneRounding ? 0 : 1)) * ulp(want);
  }
};

const bool added = add_math<Libm>({
    .name = "cpu/math/libm",
    .order = 10,
    .title = "libm",
    .idea = "The C library's functions on all threads, one element at a time.",
    .source = {{"glibc", "errors in math functions"}},
    .is_library = true,
});

}  // namespace
}  // namespace rung
