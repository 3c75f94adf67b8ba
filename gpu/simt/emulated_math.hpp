/// CUDA's mathematical functions for float, double and integers; those with suffix f for float only. The result of a
/// counted operand is a counted value. The host's library computes them: like CUDA's, its results are within a few
/// units in the last place of the exact ones, but not bit-identical. sqrt, fma and roundings are exact in both.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <numbers>
#include <type_traits>

namespace rung {
inline namespace RUNG_EMULATION {

/// The type in which a function of such an operand is computed.
template <typename T>
using Real = std::conditional_t<std::same_as<T, float>, float, double>;
/// The type of a result R: counted if any operand is.
template <typename R, typename... Operands>
using Result = std::conditional_t<(Counted<Operands> || ...), reg<R>, R>;

/// Counts a function that takes several instructions on a GPU.
template <typename R, typename... Operands>
RUNG_INLINE void tally_special() {
  if constexpr ((Counted<Operands> || ...)) tally<R>(&Operations::specials);
}
/// For functions that the GPU's counters do not count as floating-point operations.
template <typename R, typename... Operands>
RUNG_INLINE void tally_nothing() {}

#define RUNG_FUNCTION(name, count, expression)                       \
  template <NumberLike X>                                            \
  RUNG_INLINE Result<Real<scalar_of<X>>, X> name(const X& operand) { \
    using R = Real<scalar_of<X>>;                                    \
    const R x = static_cast<R>(scalar(operand));                     \
    count<R, X>();                                                   \
    return static_cast<R>(expression);                               \
  }                                                                  \
  template <NumberLike X>                                            \
  RUNG_INLINE Result<float, X> name##f(const X& operand) {           \
    using R = float;                                                 \
    const R x = static_cast<R>(scalar(operand));                     \
    count<R, X>();                                                   \
    return static_cast<R>(expression);                               \
  }
#define RUNG_FUNCTION_2(name, count, expression)                                       \
  template <NumberLike X, NumberLike Y>                                                \
  RUNG_INLINE Result<Real<Common<X, Y>>, X, Y> name(const X& first, const Y& second) { \
    using R = Real<Common<X, Y>>;                                                      \
    const R x = static_cast<R>(scalar(first)), y = static_cast<R>(scalar(second));     \
    count<R, X, Y>();                                                                  \
    return static_cast<R>(expression);                                                 \
  }                                                                                    \
  template <NumberLike X, NumberLike Y>                                                \
  RUNG_INLINE Result<float, X, Y> name##f(const X& first, const Y& second) {           \
    using R = float;                                                                   \
    const R x = static_cast<R>(scalar(first)), y = static_cast<R>(scalar(second));     \
    count<R, X, Y>();                                                                  \
    return static_cast<R>(expression);                                                 \
  }
#define RUNG_SPECIAL(name) RUNG_FUNCTION(name, tally_special, std::name(x))
#define RUNG_FREE(name) RUNG_FUNCTION(name, tally_nothing, std::name(x))
#define RUNG_SPECIAL_2(name) RUNG_FUNCTION_2(name, tally_special, std::name(x, y))

RUNG_SPECIAL(sqrt)
RUNG_SPECIAL(cbrt)
RUNG_FUNCTION(rsqrt, tally_special, 1 / std::sqrt(static_cast<double>(x)))
RUNG_FUNCTION(rcbrt, tally_special, 1 / std::cbrt(static_cast<double>(x)))
RUNG_SPECIAL(exp)
RUNG_SPECIAL(exp2)
RUNG_FUNCTION(exp10, tally_special, std::pow(10.0, static_cast<double>(x)))
RUNG_SPECIAL(expm1)
RUNG_SPECIAL(log)
RUNG_SPECIAL(log2)
RUNG_SPECIAL(log10)
RUNG_SPECIAL(log1p)
RUNG_SPECIAL(sin)
RUNG_SPECIAL(cos)
RUNG_SPECIAL(tan)
RUNG_SPECIAL(asin)
RUNG_SPECIAL(acos)
RUNG_SPECIAL(atan)
RUNG_SPECIAL(sinh)
RUNG_SPECIAL(cosh)
RUNG_SPECIAL(tanh)
RUNG_SPECIAL(asinh)
RUNG_SPECIAL(acosh)
RUNG_SPECIAL(atanh)
RUNG_SPECIAL(erf)
RUNG_SPECIAL(erfc)
RUNG_SPECIAL(tgamma)
RUNG_SPECIAL(lgamma)
RUNG_FUNCTION(sinpi, tally_special, std::sin(std::numbers::pi* std::remainder(static_cast<double>(x), 2.0)))
RUNG_FUNCTION(cospi, tally_special, std::cos(std::numbers::pi* std::remainder(static_cast<double>(x), 2.0)))
RUNG_FREE(fabs)
RUNG_FREE(floor)
RUNG_FREE(ceil)
RUNG_FREE(trunc)
RUNG_FREE(round)
RUNG_FREE(rint)
RUNG_FREE(nearbyint)
RUNG_SPECIAL_2(pow)
RUNG_SPECIAL_2(atan2)
RUNG_SPECIAL_2(fmod)
RUNG_SPECIAL_2(remainder)
RUNG_SPECIAL_2(hypot)
RUNG_SPECIAL_2(fdim)
RUNG_FUNCTION_2(copysign, tally_nothing, std::copysign(x, y))
RUNG_FUNCTION_2(fmin, tally_nothing, std::fmin(x, y))
RUNG_FUNCTION_2(fmax, tally_nothing, std::fmax(x, y))

#undef RUNG_SPECIAL_2
#undef RUNG_FREE
#undef RUNG_SPECIAL
#undef RUNG_FUNCTION_2
#undef RUNG_FUNCTION

// For floating-point numbers as fmin and fmax.
template <NumberLike L, NumberLike R>
RUNG_INLINE Result<Common<L, R>, L, R> min(const L& l, const R& r) {
  using C = Common<L, R>;
  const C left = static_cast<C>(scalar(l)), right = static_cast<C>(scalar(r));
  if constexpr (std::is_floating_point_v<C>)
    return std::fmin(left, right);
  else
    return std::min(left, right);
}
template <NumberLike L, NumberLike R>
RUNG_INLINE Result<Common<L, R>, L, R> max(const L& l, const R& r) {
  using C = Common<L, R>;
  const C left = static_cast<C>(scalar(l)), right = static_cast<C>(scalar(r));
  if constexpr (std::is_floating_point_v<C>)
    return std::fmax(left, right);
  else
    return std::max(left, right);
}
template <NumberLike X>
RUNG_INLINE auto abs(const X& x) {
  using R = decltype(+scalar_of<X>{});
  return Result<R, X>(std::abs(static_cast<R>(scalar(x))));
}

template <typename R, NumberLike A, NumberLike B, NumberLike C>
RUNG_INLINE Result<R, A, B, C> fuse(const A& a, const B& b, const C& c) {
  const R left = static_cast<R>(scalar(a)), right = static_cast<R>(scalar(b)), sum = static_cast<R>(scalar(c));
  if constexpr (Counted<A> || Counted<B> || Counted<C>) tally<R>(&Operations::fmas);
  return std::fma(left, right, sum);
}
template <NumberLike A, NumberLike B, NumberLike C>
RUNG_INLINE auto fma(const A& a, const B& b, const C& c) {
  return fuse<Real<decltype(Common<A, B>{} + scalar_of<C>{})>>(a, b, c);
}
template <NumberLike A, NumberLike B, NumberLike C>
RUNG_INLINE auto fmaf(const A& a, const B& b, const C& c) {
  return fuse<float>(a, b, c);
}

template <NumberLike X, typename R>
RUNG_INLINE void sincos(const X& operand, R* sine, R* cosine) {
  const auto x = static_cast<Real<scalar_of<X>>>(scalar(operand));
  tally_special<scalar_of<R>, X>();
  tally_special<scalar_of<R>, X>();
  *sine = std::sin(x);
  *cosine = std::cos(x);
}
template <NumberLike X>
RUNG_INLINE void sincosf(const X& x, reg<float>* sine, reg<float>* cosine) {
  sincos(reg<float>(x), sine, cosine);
}

template <NumberLike X>
RUNG_INLINE Result<Real<scalar_of<X>>, X> ldexp(const X& x, int exponent) {
  return std::ldexp(static_cast<Real<scalar_of<X>>>(scalar(x)), exponent);
}
template <NumberLike X>
RUNG_INLINE Result<float, X> ldexpf(const X& x, int exponent) {
  return std::ldexp(static_cast<float>(scalar(x)), exponent);
}

template <NumberLike X>
RUNG_INLINE bool isnan(const X& x) {
  return std::isnan(scalar(x));
}
template <NumberLike X>
RUNG_INLINE bool isinf(const X& x) {
  return std::isinf(scalar(x));
}
template <NumberLike X>
RUNG_INLINE bool isfinite(const X& x) {
  return std::isfinite(scalar(x));
}
template <NumberLike X>
RUNG_INLINE bool signbit(const X& x) {
  return std::signbit(scalar(x));
}

}  // namespace RUNG_EMULATION
}  // namespace rung
