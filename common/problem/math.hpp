/// "math" and "math_error": functions of float32 numbers; how many results per second, and how accurate. This file has
/// what both problems and their kernels on both sides share: the functions, their exact results in float64, the unit in
/// the last place, and the errors that are gathered over many arguments.
///
/// "math", the speed. Each result is added up, so that none can be left out, and each argument is a little larger than
/// the last, so that none is evaluated once for all:
///   Sizes     function: one of kMathFunctions; n: elements, up to 2^31; passes: evaluations of each, 1 if not given.
///   Operand 0 `x`, input; operand 1 `y`, input, the second argument of pow and divide: n elements of float32.
///   Operand 2 `total`, output: n elements of float32.
///   Formula   total[i] = sum over p from 0 to passes - 1 of f(x_p, y_p), where x_0 = x[i], and x_(p+1) = x_p *
///             kMathNudge rounded to float32, likewise y. With one pass that is f(x[i], y[i]) itself.
///
/// "math_error", the accuracy. A kernel makes up its arguments, evaluates the function and its float64 double, and
/// reports its errors, in rows; the judge recomputes the errors at the worst arguments:
///   Sizes     function; n: arguments, a power of two up to 2^32: every bit pattern of a float32, or as many strata.
///   Operand 0 `worst`, output: kMathWorst triples (x, y, result) for each row: element [kind][component][row].
///   Operand 1 `bound`, output, float64: for each row, the error that is allowed at its worst of kind `ratio`.
///   Operand 2 `counts`, output, uint32: kMathCounts for each row: element [count][row].
/// Row r has the arguments r n / rows to (r + 1) n / rows - 1 of math_arguments().
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "common/host_device.hpp"
#include "common/registry.hpp"

namespace rung {

enum class MathFunction { exp, exp2, log, sin, cos, tan, pow, rsqrt, reciprocal, divide, none };

/// The words of the size "function". `none` is x itself: the loop around the functions.
constexpr const char* kMathFunctions[] = {"exp", "exp2",  "log",        "sin",    "cos", "tan",
                                          "pow", "rsqrt", "reciprocal", "divide", "none"};

/// Of two arguments. A variable, since the GPU's code may not call the CPU's constexpr functions.
template <MathFunction kFunction>
constexpr bool kIsBinary = kFunction == MathFunction::pow || kFunction == MathFunction::divide;

constexpr bool is_binary(MathFunction f) { return f == MathFunction::pow || f == MathFunction::divide; }
constexpr bool is_trigonometric(MathFunction f) {
  return f == MathFunction::sin || f == MathFunction::cos || f == MathFunction::tan;
}

inline std::vector<Value> math_function_words() {
  std::vector<Value> all;
  for (const char* word : kMathFunctions) all.emplace_back(static_cast<std::int64_t>(all.size()), word);
  return all;
}

inline MathFunction math_function(const Params& p) { return static_cast<MathFunction>(p.at("function")); }

/// Calls act(std::integral_constant<MathFunction, f>{}) if Implementation::has(f).
template <typename Implementation, typename Act>
void with_math_function(MathFunction wanted, const Act& act) {
  const auto try_one = [&]<MathFunction kFunction>(std::integral_constant<MathFunction, kFunction> f) {
    if constexpr (Implementation::has(kFunction))
      if (wanted == kFunction) act(f);
  };
  [&]<std::size_t... kPlace>(std::index_sequence<kPlace...>) {
    (try_one(std::integral_constant<MathFunction, static_cast<MathFunction>(kPlace)>{}), ...);
  }
  (std::make_index_sequence<std::size(kMathFunctions)>{});
}

/// From one pass to the next; 1024 of them are a tenth of a percent.
constexpr float kMathNudge = 1 + 0x1p-20f;

// ---- Exact results and units in the last place ----

template <typename To, typename From>
RUNG_ANYWHERE To same_bits(From from) {
  return __builtin_bit_cast(To, from);
}

/// What is right: in float64, whose own error is less than 2^-28 of a float32's unit in the last place.
template <MathFunction kFunction>
RUNG_ANYWHERE double exact(float x, float y) {
  const double u = x, v = y;
  if constexpr (kFunction == MathFunction::exp) return std::exp(u);
  if constexpr (kFunction == MathFunction::exp2) return std::exp2(u);
  if constexpr (kFunction == MathFunction::log) return std::log(u);
  if constexpr (kFunction == MathFunction::sin) return std::sin(u);
  if constexpr (kFunction == MathFunction::cos) return std::cos(u);
  if constexpr (kFunction == MathFunction::tan) return std::tan(u);
  if constexpr (kFunction == MathFunction::pow) return std::pow(u, v);
  if constexpr (kFunction == MathFunction::rsqrt) return 1 / std::sqrt(u);
  if constexpr (kFunction == MathFunction::reciprocal) return 1 / u;
  if constexpr (kFunction == MathFunction::divide) return u / v;
  if constexpr (kFunction == MathFunction::none) return u;
}

/// The distance between neighbouring float32 where `exact` lies: 2^-149 among the subnormal ones.
RUNG_ANYWHERE double ulp(double exact) {
  const int exponent = static_cast<int>(same_bits<std::uint64_t>(exact) >> 52 & 0x7FF) - 1023;
  const int of_float = exponent < -126 ? -126 : exponent > 127 ? 127 : exponent;
  return same_bits<double>(static_cast<std::uint64_t>(of_float - 23 + 1023) << 52);
}

/// The number that would follow the largest float32 stands for all that are beyond it, and for infinity.
RUNG_ANYWHERE double clipped(double x) { return x > 0x1p128 ? 0x1p128 : x < -0x1p128 ? -0x1p128 : x; }

/// The error of a correctly rounded result, in units in the last place, and a little for the float64 one's error.
constexpr double kRounded = 0.5 + 0x1p-20;
/// Where an implementation promises nothing.
constexpr double kNoBound = std::numeric_limits<double>::infinity();

// ---- Gathered errors ----

/// For each kind of error the argument with the largest one is kept: the error over its bound; in units in the last
/// place where there is a bound; in the same units everywhere; the absolute error where there is a bound; NaN instead
/// of a number or a number instead of NaN, the last one seen.
enum MathWorst { kWorstRatio, kWorstUlps, kWorstEverywhere, kWorstAbsolute, kSpecial, kMathWorst };
/// Numbers of arguments: all; with a result and an exact result that are numbers; of these, with a bound; not correctly
/// rounded; and where only one of the two is NaN, anywhere and where there is a bound.
enum MathCount { kEvaluated, kCompared, kInside, kNotRounded, kSpecials, kSpecialsInside, kMathCounts };

struct MathSample {
  double size = -1;
  float x = 0, y = 0, result = 0;
};

struct MathErrors {
  MathSample worst[kMathWorst];
  double bound = 0;  ///< at the worst ratio
  std::uint32_t counts[kMathCounts] = {};

  /// `want` is the exact result, clipped(); `allowed` the error that is allowed there, or kNoBound.
  RUNG_ANYWHERE void add(float x, float y, float result, double want, double allowed) {
    const bool is_inside = allowed < kNoBound;
    ++counts[kEvaluated];
    if (std::isnan(want) || std::isnan(result)) {
      if (std::isnan(want) && std::isnan(result)) return;
      ++counts[kSpecials];
      if (!is_inside) return;
      ++counts[kSpecialsInside];
      worst[kSpecial] = {0, x, y, result};
      return;
    }
    const double error = std::fabs(clipped(result) - want), ulps = error / ulp(want);
    ++counts[kCompared];
    if (ulps > kRounded) ++counts[kNotRounded];
    keep(worst[kWorstEverywhere], ulps, x, y, result);
    if (!is_inside) return;
    ++counts[kInside];
    keep(worst[kWorstUlps], ulps, x, y, result);
    keep(worst[kWorstAbsolute], error, x, y, result);
    if (keep(worst[kWorstRatio], error / allowed, x, y, result)) bound = allowed;
  }

 private:
  static RUNG_ANYWHERE bool keep(MathSample& worst, double size, float x, float y, float result) {
    if (!(size > worst.size)) return false;
    worst = {size, x, y, result};
    return true;
  }
};

// ---- The arguments of "math_error" ----

/// As many rows as keep a GPU busy, of 256 arguments or more each.
inline std::int64_t math_error_rows(const Params& p) {
  return std::clamp(p.at("n") / 256, std::int64_t{1}, std::int64_t{1} << 18);
}

struct MathArguments {
  float x = 0, y = 0;
};

RUNG_ANYWHERE std::uint64_t scrambled(std::uint64_t z) {
  z = (z + 1) * 0x9E3779B97F4A7C15ull;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

/// A number somewhere in stratum i of 2^log_strata equal ranges of bit patterns.
RUNG_ANYWHERE std::uint32_t pattern_in(std::uint64_t i, int log_strata, std::uint32_t somewhere) {
  const auto mask = static_cast<std::uint32_t>((std::uint64_t{1} << (32 - log_strata)) - 1);
  return static_cast<std::uint32_t>(i << (32 - log_strata)) | (somewhere & mask);
}

/// Argument i of 2^log_n: one of each of 2^log_n ranges of bit patterns; of two arguments, one of each pair of ranges.
/// Most powers of two random numbers are 0 or infinite: every second pair of pow has y such that the result's exponent
/// is spread evenly over float32's exponents, and a little beyond.
template <MathFunction kFunction>
RUNG_ANYWHERE MathArguments math_arguments(std::uint64_t i, int log_n) {
  const std::uint64_t bits = scrambled(i);
  const auto low = static_cast<std::uint32_t>(bits), high = static_cast<std::uint32_t>(bits >> 32);
  if constexpr (!kIsBinary<kFunction>) {
    return {same_bits<float>(pattern_in(i, log_n, low)), 0};
  } else {
    const int log_y = log_n / 2;
    const float x = same_bits<float>(pattern_in(i >> log_y, log_n - log_y, low));
    const std::uint32_t y = pattern_in(i & ((std::uint64_t{1} << log_y) - 1), log_y, high);
    if (kFunction != MathFunction::pow || (scrambled(bits) & 1)) return {x, same_bits<float>(y)};
    const double exponent = 282 * (y * 0x1p-32) - 152;
    return {std::fabs(x), static_cast<float>(exponent / std::log2(std::fabs(static_cast<double>(x))))};
  }
}

}  // namespace rung
