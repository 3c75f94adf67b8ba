/// CUDA's intrinsics. Inexact ones are modelled in the steps in which the hardware computes them, each rounded to
/// float, or to fewer bits where the special function unit has fewer. The error of the model is of the documented kind
/// and within the documented bound; its results are not bit-identical to the hardware's. Bounds: CUDA C++ Programming
/// Guide, "Mathematical Functions", "Intrinsic Functions", single precision.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>

#include "gpu/simt/emulated_math.hpp"

namespace rung {
inline namespace RUNG_EMULATION {

// ---- The special function unit: one instruction each ----

/// `exact`, rounded once to a float whose significand has `bits_fewer` bits fewer than usual.
RUNG_UNTRACED inline float reduced_precision(double exact, int bits_fewer) {
  constexpr int kBeyondFloat = std::numeric_limits<double>::digits - std::numeric_limits<float>::digits;
  if (!std::isfinite(exact)) return static_cast<float>(exact);
  const std::uint64_t half = std::uint64_t{1} << (kBeyondFloat + bits_fewer - 1);
  const std::uint64_t bits = (std::bit_cast<std::uint64_t>(exact) + half) & ~(2 * half - 1);
  return static_cast<float>(std::bit_cast<double>(bits));
}
/// 2^x.
RUNG_UNTRACED inline float unit_exp2(float x) { return reduced_precision(std::exp2(static_cast<double>(x)), 1); }
/// log2(x); near 0 the unit has a fixed number of fractional bits.
RUNG_UNTRACED inline float unit_log2(float x) {
  const double exact = std::log2(static_cast<double>(x));
  if (x >= 0.5f && x <= 2) return static_cast<float>(std::nearbyint(std::ldexp(exact, 22)) / 0x1p22);
  return reduced_precision(exact, 1);
}
/// 1 / x, with subnormal results flushed to zero.
RUNG_UNTRACED inline float unit_reciprocal(float x) {
  const float result = 1 / x;
  return std::fabs(result) < std::numeric_limits<float>::min() ? std::copysign(0.0f, x) : result;
}
/// The sine and cosine of 2 pi x.
RUNG_UNTRACED inline float unit_sin(float x) {
  return reduced_precision(std::sin(2 * std::numbers::pi * static_cast<double>(x)), 2);
}
RUNG_UNTRACED inline float unit_cos(float x) {
  return reduced_precision(std::cos(2 * std::numbers::pi * static_cast<double>(x)), 2);
}

// ---- Inexact on the hardware ----

constexpr float kInverseTwoPi = static_cast<float>(0.5 / std::numbers::pi);

/// An intrinsic of x: a multiplication and an instruction of the special function unit.
#define RUNG_INTRINSIC(name, expression)                 \
  template <NumberLike X>                                \
  RUNG_INLINE Result<float, X> name(const X& operand) {  \
    const float x = static_cast<float>(scalar(operand)); \
    tally_special<float, X>();                           \
    tally_mul<X>();                                      \
    return expression;                                   \
  }

template <typename... Operands>
RUNG_INLINE void tally_mul() {
  if constexpr ((Counted<Operands> || ...)) tally<float>(&Operations::muls);
}

// At most 2 + floor(abs(1.173 x)) units in the last place: the product's rounding grows with x.
RUNG_INTRINSIC(__expf, unit_exp2(x* std::numbers::log2e_v<float>))
// At most 2 + floor(abs(2.97 x)) units in the last place.
RUNG_INTRINSIC(__exp10f, unit_exp2(x * 3.321928095f))
// At most 2^-21.41 for x in [0.5, 2], else 3 units in the last place.
RUNG_INTRINSIC(__logf, unit_log2(x) * std::numbers::ln2_v<float>)
// At most 2^-24 for x in [0.5, 2], else 3 units in the last place.
RUNG_INTRINSIC(__log10f, unit_log2(x) * 0.3010299957f)
// At most 2^-21.41 for x in [-pi, pi], more beyond: the range is reduced in float.
RUNG_INTRINSIC(__sinf, unit_sin(x* kInverseTwoPi))
// At most 2^-21.19 for x in [-pi, pi], more beyond.
RUNG_INTRINSIC(__cosf, unit_cos(x* kInverseTwoPi))
#undef RUNG_INTRINSIC

/// At most 2^-22 for x in [0.5, 2], else 2 units in the last place.
template <NumberLike X>
RUNG_INLINE Result<float, X> __log2f(const X& x) {
  const auto operand = static_cast<float>(scalar(x));
  tally_special<float, X>();
  return unit_log2(operand);
}

/// At most 2 units in the last place for abs(y) in [2^-126, 2^126]; beyond that 0, or NaN if x is infinite.
template <NumberLike X, NumberLike Y>
RUNG_INLINE Result<float, X, Y> __fdividef(const X& x, const Y& y) {
  const auto dividend = static_cast<float>(scalar(x)), divisor = static_cast<float>(scalar(y));
  tally_special<float, X, Y>();
  tally_mul<X, Y>();
  return dividend * unit_reciprocal(divisor);
}

/// exp2(y log2(x)), both from the special function unit: the error follows from theirs.
template <NumberLike X, NumberLike Y>
RUNG_INLINE Result<float, X, Y> __powf(const X& x, const Y& y) {
  const auto base = static_cast<float>(scalar(x)), exponent = static_cast<float>(scalar(y));
  tally_special<float, X, Y>();
  tally_mul<X, Y>();
  tally_special<float, X, Y>();
  return unit_exp2(exponent * unit_log2(base));
}

/// __sinf times the reciprocal of __cosf.
template <NumberLike X>
RUNG_INLINE Result<float, X> __tanf(const X& x) {
  const Result<float, X> operand = static_cast<float>(scalar(x));
  return __fdividef(__sinf(operand), __cosf(operand));
}

template <NumberLike X>
RUNG_INLINE void __sincosf(const X& x, reg<float>* sine, reg<float>* cosine) {
  const Result<float, X> operand = static_cast<float>(scalar(x));
  *sine = __sinf(operand);
  *cosine = __cosf(operand);
}

// ---- Correctly rounded, and never fused ----

#define RUNG_ROUNDED(name, type, kind, expression)                                          \
  template <NumberLike X, NumberLike Y>                                                     \
  RUNG_INLINE Result<type, X, Y> name(const X& first, const Y& second) {                    \
    const auto x = static_cast<type>(scalar(first)), y = static_cast<type>(scalar(second)); \
    if constexpr (Counted<X> || Counted<Y>) tally<type>(&Operations::kind);                 \
    return expression;                                                                      \
  }
#define RUNG_ROUNDED_1(name, type, expression)         \
  template <NumberLike X>                              \
  RUNG_INLINE Result<type, X> name(const X& operand) { \
    const auto x = static_cast<type>(scalar(operand)); \
    tally_special<type, X>();                          \
    return static_cast<type>(expression);              \
  }
RUNG_ROUNDED(__fadd_rn, float, adds, x + y)
RUNG_ROUNDED(__fsub_rn, float, adds, x - y)
RUNG_ROUNDED(__fmul_rn, float, muls, x* y)
RUNG_ROUNDED(__fdiv_rn, float, specials, x / y)
RUNG_ROUNDED(__dadd_rn, double, adds, x + y)
RUNG_ROUNDED(__dsub_rn, double, adds, x - y)
RUNG_ROUNDED(__dmul_rn, double, muls, x* y)
RUNG_ROUNDED(__ddiv_rn, double, specials, x / y)
RUNG_ROUNDED_1(__frcp_rn, float, 1 / x)
RUNG_ROUNDED_1(__fsqrt_rn, float, std::sqrt(x))
RUNG_ROUNDED_1(__frsqrt_rn, float, 1 / std::sqrt(static_cast<double>(x)))
RUNG_ROUNDED_1(__drcp_rn, double, 1 / x)
RUNG_ROUNDED_1(__dsqrt_rn, double, std::sqrt(x))
#undef RUNG_ROUNDED_1
#undef RUNG_ROUNDED

template <NumberLike A, NumberLike B, NumberLike C>
RUNG_INLINE auto __fmaf_rn(const A& a, const B& b, const C& c) {
  return fuse<float>(a, b, c);
}
template <NumberLike A, NumberLike B, NumberLike C>
RUNG_INLINE auto __fma_rn(const A& a, const B& b, const C& c) {
  return fuse<double>(a, b, c);
}

/// Clamps to [0, 1]; NaN becomes 0.
template <NumberLike X>
RUNG_INLINE Result<float, X> __saturatef(const X& x) {
  return std::fmin(std::fmax(static_cast<float>(scalar(x)), 0.0f), 1.0f);
}

// ---- Conversions ----

/// Converts a whole number, clamped to the range of Int; NaN becomes 0.
template <typename Int>
RUNG_UNTRACED inline Int to_integer(double whole) {
  if (std::isnan(whole)) return 0;
  if (whole <= static_cast<double>(std::numeric_limits<Int>::min())) return std::numeric_limits<Int>::min();
  if (whole >= static_cast<double>(std::numeric_limits<Int>::max())) return std::numeric_limits<Int>::max();
  return static_cast<Int>(whole);
}

#define RUNG_TO_INTEGER(name, type)                             \
  template <NumberLike X>                                       \
  RUNG_INLINE type name##_rn(const X& x) {                      \
    return to_integer<type>(std::nearbyint(double(scalar(x)))); \
  }                                                             \
  template <NumberLike X>                                       \
  RUNG_INLINE type name##_rz(const X& x) {                      \
    return to_integer<type>(std::trunc(double(scalar(x))));     \
  }                                                             \
  template <NumberLike X>                                       \
  RUNG_INLINE type name##_ru(const X& x) {                      \
    return to_integer<type>(std::ceil(double(scalar(x))));      \
  }                                                             \
  template <NumberLike X>                                       \
  RUNG_INLINE type name##_rd(const X& x) {                      \
    return to_integer<type>(std::floor(double(scalar(x))));     \
  }
RUNG_TO_INTEGER(__float2int, int)
RUNG_TO_INTEGER(__float2uint, unsigned)
RUNG_TO_INTEGER(__float2ll, long long)
RUNG_TO_INTEGER(__float2ull, unsigned long long)
RUNG_TO_INTEGER(__double2int, int)
RUNG_TO_INTEGER(__double2uint, unsigned)
RUNG_TO_INTEGER(__double2ll, long long)
RUNG_TO_INTEGER(__double2ull, unsigned long long)
#undef RUNG_TO_INTEGER

RUNG_INLINE reg<float> __int2float_rn(int x) { return static_cast<float>(x); }
RUNG_INLINE reg<float> __uint2float_rn(unsigned x) { return static_cast<float>(x); }
RUNG_INLINE reg<float> __ll2float_rn(long long x) { return static_cast<float>(x); }
RUNG_INLINE reg<float> __ull2float_rn(unsigned long long x) { return static_cast<float>(x); }
RUNG_INLINE reg<double> __int2double_rn(int x) { return static_cast<double>(x); }
RUNG_INLINE reg<double> __uint2double_rn(unsigned x) { return static_cast<double>(x); }
RUNG_INLINE reg<double> __ll2double_rn(long long x) { return static_cast<double>(x); }
RUNG_INLINE reg<double> __ull2double_rn(unsigned long long x) { return static_cast<double>(x); }
template <NumberLike X>
RUNG_INLINE Result<float, X> __double2float_rn(const X& x) {
  return static_cast<float>(scalar(x));
}

RUNG_INLINE reg<float> __int_as_float(int bits) { return std::bit_cast<float>(bits); }
RUNG_INLINE reg<float> __uint_as_float(unsigned bits) { return std::bit_cast<float>(bits); }
RUNG_INLINE reg<double> __longlong_as_double(long long bits) { return std::bit_cast<double>(bits); }
template <NumberLike X>
RUNG_INLINE int __float_as_int(const X& x) {
  return std::bit_cast<int>(static_cast<float>(scalar(x)));
}
template <NumberLike X>
RUNG_INLINE unsigned __float_as_uint(const X& x) {
  return std::bit_cast<unsigned>(static_cast<float>(scalar(x)));
}
template <NumberLike X>
RUNG_INLINE long long __double_as_longlong(const X& x) {
  return std::bit_cast<long long>(static_cast<double>(scalar(x)));
}

// ---- Integers ----

RUNG_INLINE int __popc(unsigned x) { return std::popcount(x); }
RUNG_INLINE int __popcll(unsigned long long x) { return std::popcount(x); }
RUNG_INLINE int __clz(int x) { return std::countl_zero(static_cast<unsigned>(x)); }
RUNG_INLINE int __clzll(long long x) { return std::countl_zero(static_cast<unsigned long long>(x)); }
RUNG_INLINE int __ffs(int x) { return __builtin_ffs(x); }
RUNG_INLINE int __ffsll(long long x) { return __builtin_ffsll(x); }

RUNG_INLINE unsigned long long __brevll(unsigned long long x) {
  x = (x >> 1 & 0x5555555555555555) | (x & 0x5555555555555555) << 1;
  x = (x >> 2 & 0x3333333333333333) | (x & 0x3333333333333333) << 2;
  x = (x >> 4 & 0x0f0f0f0f0f0f0f0f) | (x & 0x0f0f0f0f0f0f0f0f) << 4;
  return __builtin_bswap64(x);
}
RUNG_INLINE unsigned __brev(unsigned x) { return static_cast<unsigned>(__brevll(x) >> 32); }

RUNG_INLINE int __mulhi(int x, int y) { return static_cast<int>(static_cast<long long>(x) * y >> 32); }
RUNG_INLINE unsigned __umulhi(unsigned x, unsigned y) {
  return static_cast<unsigned>(static_cast<unsigned long long>(x) * y >> 32);
}
__extension__ typedef __int128 Wide;
__extension__ typedef unsigned __int128 UnsignedWide;
RUNG_INLINE long long __mul64hi(long long x, long long y) { return static_cast<long long>(Wide{x} * y >> 64); }
RUNG_INLINE unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
  return static_cast<unsigned long long>(UnsignedWide{x} * y >> 64);
}
/// The low 32 bits of the product of the low 24 bits.
RUNG_INLINE int __mul24(int x, int y) {
  const int left = static_cast<int>(static_cast<unsigned>(x) << 8) >> 8;
  const int right = static_cast<int>(static_cast<unsigned>(y) << 8) >> 8;
  return static_cast<int>(static_cast<long long>(left) * right);
}
RUNG_INLINE unsigned __umul24(unsigned x, unsigned y) { return (x & 0xffffff) * (y & 0xffffff); }

// Shifts the 64 bits high:low and returns the high half of a left shift, the low half of a right shift. The shift is
// taken modulo 32 or, with suffix c, clamped to 32.
RUNG_INLINE unsigned long long joined(unsigned low, unsigned high) {
  return static_cast<unsigned long long>(high) << 32 | low;
}
RUNG_INLINE unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>(joined(low, high) << (shift & 31) >> 32);
}
RUNG_INLINE unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>(joined(low, high) << std::min(shift, 32u) >> 32);
}
RUNG_INLINE unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>(joined(low, high) >> (shift & 31));
}
RUNG_INLINE unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>(joined(low, high) >> std::min(shift, 32u));
}

/// Byte i of the result is byte selector[4 i + 2 : 4 i] of the eight bytes high:low.
RUNG_INLINE unsigned __byte_perm(unsigned low, unsigned high, unsigned selector) {
  const unsigned long long bytes = joined(low, high);
  const auto byte = [&](unsigned i) { return static_cast<unsigned>(bytes >> 8 * (selector >> 4 * i & 7) & 0xff); };
  return byte(0) | byte(1) << 8 | byte(2) << 16 | byte(3) << 24;
}
RUNG_INLINE unsigned __usad(unsigned x, unsigned y, unsigned sum) { return std::max(x, y) - std::min(x, y) + sum; }
RUNG_INLINE unsigned __sad(int x, int y, unsigned sum) {
  return static_cast<unsigned>(std::max(x, y)) - static_cast<unsigned>(std::min(x, y)) + sum;
}
RUNG_INLINE int __hadd(int x, int y) { return static_cast<int>((static_cast<long long>(x) + y) >> 1); }
RUNG_INLINE int __rhadd(int x, int y) { return static_cast<int>((static_cast<long long>(x) + y + 1) >> 1); }

}  // namespace RUNG_EMULATION
}  // namespace rung
