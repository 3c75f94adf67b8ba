/// A float32 number as a whole number of 31 bits, cut into four signed slices of 8 bits that tensor cores multiply. The
/// numbers of a row are fixed-point numbers: they share the power of two 2^e just above the largest.
///   x = 2^e (s0 2^-7 + s1 2^-15 + s2 2^-23 + s3 2^-31), |s0| <= 127, -128 <= s1, s2, s3 <= 127
/// The error is 2^(e-32) at most: relative to the largest number of the row, not to x.
///
/// In memory a row consists of its slices one after the other, each padded with zeros to whole steps of 128 numbers; a
/// column of B is stored as such a row, with the slices in the opposite order. So all products of slices whose places
/// add up to o are one matrix product, (o + 1) k deep: A's first o + 1 slices times B's last o + 1. Its sums are exact
/// in int32: at most k (2 127 128 + 2 128 128), which is below 2^31 for k up to 32768, the problem's largest k.
///
/// Sources: Ozaki, Ogita, Oishi, Rump: Error-free transformations of matrix multiplication by using fast routines of
/// matrix multiplication and its applications, 2012; Ootomo, Ozaki, Yokota: DGEMM on integer matrix multiplication
/// unit, 2024; Uchino, Ozaki, Imamura: Performance enhancement of the Ozaki scheme on integer matrix multiplication
/// unit, 2025, for rounding to the nearest and for adding products of one weight in int32.
#pragma once

#include <cstdint>

#include "common/host_device.hpp"

namespace rung::wgmma {

constexpr int kSlices = 4, kSliceBits = 8;
constexpr int kSliceProducts = kSlices * (kSlices + 1) / 2;  ///< of slices whose places add up to less than kSlices
constexpr int kFractionBits = kSlices * kSliceBits - 1;
constexpr int kPaddedSlice = 128;                              ///< numbers of a step
constexpr int kNoExponent = -(1 << 16), kNotFinite = 1 << 20;  ///< of zeros alone; with an infinity or NaN

RUNG_ANYWHERE constexpr std::int64_t padded_slice(std::int64_t k) {
  return (k + kPaddedSlice - 1) / kPaddedSlice * kPaddedSlice;
}

/// The exponent e of a row of one number, given as bits: |x| < 127/128 2^e, so that s0 stays below 128 when later
/// slices are rounded up.
RUNG_ANYWHERE constexpr int exponent_of(std::uint32_t bits) {
  const std::uint32_t size = bits & 0x7fffffff;
  if (size == 0) return kNoExponent;
  if (size >= 0x7f800000) return kNotFinite;
  return static_cast<int>((size + (1u << 17)) >> 23) - 126;
}

/// Slice `place` of a whole number. Later slices are rounded off first.
RUNG_ANYWHERE constexpr int slice_of(int whole, int place) {
  for (int i = kSlices - 1; i > place; --i) whole = (whole - static_cast<std::int8_t>(whole & 0xff)) >> kSliceBits;
  return place == 0 ? whole : static_cast<std::int8_t>(whole & 0xff);
}

/// The power of two by which column i of A is multiplied, and row i of B divided, so that both have the same size.
/// `of_a`, `of_b`: the exponents of their largest numbers, relative to the number's row of A or column of B.
RUNG_ANYWHERE constexpr int balance(int of_a, int of_b) { return (of_b - of_a) >> 1; }

}  // namespace rung::wgmma
