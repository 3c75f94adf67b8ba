/// Floating-point numbers of 16 and 8 bits, held as their bits, and their conversions: to the nearest, ties to even.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

namespace rung {

inline std::uint32_t bits_of(float x) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}
inline float float_of(std::uint32_t bits) {
  float x = 0;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

/// bfloat16: the upper half of a float32.
using Bf16 = std::uint16_t;

inline float from_bf16(Bf16 x) { return float_of(std::uint32_t{x} << 16); }

/// NaN stays NaN.
inline Bf16 to_bf16(float x) {
  const std::uint32_t bits = bits_of(x);
  if (x != x) return static_cast<Bf16>(bits >> 16 | 0x40);  // quiet: the mantissa's upper bits may all be 0
  return static_cast<Bf16>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

/// IEEE 754's binary16: 5 bits of exponent, 10 of mantissa.
using Fp16 = std::uint16_t;

inline float from_fp16(Fp16 x) {
  const std::uint32_t sign = std::uint32_t{x & 0x8000u} << 16, exponent = x >> 10 & 0x1f, mantissa = x & 0x3ff;
  if (exponent == 0x1f) return float_of(sign | 0x7f800000 | mantissa << 13);
  if (exponent > 0) return float_of(sign | (exponent + 112) << 23 | mantissa << 13);
  const float subnormal = std::ldexp(static_cast<float>(mantissa), -24);
  return sign ? -subnormal : subnormal;
}

/// Beyond 65504, after rounding, infinite; NaN stays NaN.
inline Fp16 to_fp16(float x) {
  const std::uint32_t bits = bits_of(x), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
  if (x != x) return static_cast<Fp16>(sign | 0x7e00);
  if (magnitude >= 0x477ff000) return static_cast<Fp16>(sign | 0x7c00);
  if (magnitude < 0x38800000)  // below 2^-14: a multiple of 2^-24
    return static_cast<Fp16>(sign | static_cast<std::uint32_t>(std::nearbyint(std::ldexp(float_of(magnitude), 24))));
  return static_cast<Fp16>(sign | ((magnitude - 0x38000000 + 0xfff + (magnitude >> 13 & 1)) >> 13));
}

/// TF32: float32 with 10 bits of mantissa, stored as float32.
inline float to_tf32(float x) {
  const std::uint32_t bits = bits_of(x);
  return x != x ? x : float_of((bits + 0xfff + (bits >> 13 & 1)) & ~0x1fffu);
}

/// FP8 in the format E4M3: 4 bits of exponent, 3 of mantissa, no infinity (Micikevicius and others 2022).
using Fp8 = std::uint8_t;

inline float from_fp8(Fp8 x) {
  const std::uint32_t sign = std::uint32_t{x & 0x80u} << 24, exponent = x >> 3 & 0xf, mantissa = x & 7;
  if (exponent == 0xf && mantissa == 7) return float_of(sign | 0x7fc00000);
  if (exponent > 0) return float_of(sign | (exponent + 120) << 23 | mantissa << 20);
  const float subnormal = std::ldexp(static_cast<float>(mantissa), -9);
  return sign ? -subnormal : subnormal;
}

/// Beyond 448 the largest number, 448; NaN stays NaN.
inline Fp8 to_fp8(float x) {
  const std::uint32_t bits = bits_of(x), sign = bits >> 24 & 0x80, magnitude = bits & 0x7fffffff;
  if (x != x) return static_cast<Fp8>(sign | 0x7f);
  if (magnitude >= 0x43e00000) return static_cast<Fp8>(sign | 0x7e);
  if (magnitude < 0x3c800000)  // below 2^-6: a multiple of 2^-9
    return static_cast<Fp8>(sign | static_cast<std::uint32_t>(std::nearbyint(std::ldexp(float_of(magnitude), 9))));
  return static_cast<Fp8>(sign | ((magnitude - 0x3c000000 + 0x7ffff + (magnitude >> 20 & 1)) >> 20));
}

}  // namespace rung
