/// A float32 number as a sum of numbers that tensor cores multiply: of two TF32, two FP16, or three BF16. Each term is
/// the nearest to the remainder that the previous terms leave, which float32 holds exactly. Two TF32 have 22 bits, and
/// a sign each: their sum differs from x by 2^-23 |x| at most. Three BF16 have 24 bits: their sum is exact. Bits below
/// 2^-133 are lost, since BF16 has no smaller numbers (2^-136 in TF32). An infinity or a NaN is the first term alone.
///
/// Two FP16 have as many bits as two TF32, but a small range. So a matrix is first multiplied by the power of two that
/// brings its largest number to at least 2^14, and the second term is stored times 2^12, nearly as large as the first.
/// Then the error is 2^-23 |x| at most for numbers from 2^-14 up, and 2^-37 for smaller ones.
///
/// In memory, a row's numbers are in blocks of 16, with 128 bytes for the terms of a block: four slots of 32 bytes, the
/// depth of a wgmma. TF32: the first terms of 8 numbers, of the next 8, then their second terms. BF16: the first,
/// second, third terms of 16; the fourth slot holds zeros, which are never multiplied. FP16 has blocks of 64 numbers:
/// 128 bytes of their second terms, then 128 bytes of their first. TMA loads 128 bytes of a row per step.
///
/// Source: Ootomo, Yokota: Recovering single precision accuracy from Tensor Cores, IJHPCA 2022; Henry, Tang, Heinecke:
/// Leveraging the bfloat16 artificial intelligence datatype for higher-precision computations, ARITH 2019.
#pragma once

#include <cstdint>
#include <cstring>

#include "common/host_device.hpp"
#include "common/registry.hpp"

namespace rung::wgmma {

constexpr int kTermDepth = 16;        ///< numbers of a row in a block, except in FP16
constexpr int kTermBlockBytes = 128;  ///< of their terms
constexpr int kSlotBytes = 32;
constexpr float kSecondFp16 = 0x1p12f;   ///< the factor of the second terms in FP16
constexpr float kFullFp16 = 0x1p-14f;    ///< the smallest number that two FP16 hold with an error of 2^-23,
constexpr float kMissedFp16 = 0x1p-37f;  ///< and their absolute error for smaller ones

/// Numbers of a row in a block of terms, and the bytes of these.
RUNG_ANYWHERE constexpr int term_depth(Type type) { return type == Type::fp16 ? 64 : kTermDepth; }
RUNG_ANYWHERE constexpr int term_block_bytes(Type type) { return type == Type::fp16 ? 256 : kTermBlockBytes; }

/// How many numbers of a type a float32 becomes.
RUNG_ANYWHERE constexpr int terms_of(Type type) { return type == Type::bf16 ? 3 : 2; }

/// The offset of a term of number `i` from its block's beginning, in bytes.
RUNG_ANYWHERE constexpr int term_offset(Type type, int term, int i) {
  if (type == Type::fp16) return (term == 0 ? kTermBlockBytes : 0) + i * 2;
  const int bytes = type == Type::tf32 ? 4 : 2;
  return term * (kTermDepth * bytes) + i * bytes;
}

/// The slots of A and of B that an instruction multiplies.
struct TermProduct {
  int a, b;
};

/// Instruction `i` of a step. The smallest products come first: while a sum is small, so are the bits that are cut off.
/// In BF16, 6 products leave out the three that are below 2^-24 of the largest.
RUNG_ANYWHERE constexpr TermProduct term_product(Type type, int products, int i) {
  if (type == Type::tf32) {  // small x big, big x small, big x big, each for two slots
    const int half = i % 2, which = i / 2;
    return {which == 0 ? 2 + half : half, which == 1 ? 2 + half : half};
  }
  constexpr TermProduct kOrder[9] = {{2, 2}, {2, 1}, {1, 2}, {2, 0}, {1, 1}, {0, 2}, {1, 0}, {0, 1}, {0, 0}};
  return kOrder[9 - products + i];
}

/// The bits of the nearest float32 whose lowest `dropped` bits are 0; ties to even. A number that would become infinite
/// is truncated instead.
RUNG_ANYWHERE constexpr std::uint32_t rounded_bits(std::uint32_t bits, int dropped) {
  const std::uint32_t lowest = 1u << dropped, up = bits + (lowest / 2 - 1) + (bits >> dropped & 1);
  if ((bits & 0x7fffffff) > 0x7f800000) return (bits | 0x400000) & ~(lowest - 1);  // NaN stays NaN
  return ((up & 0x7fffffff) < 0x7f800000 ? up : bits) & ~(lowest - 1);
}

/// Sets term[0 … terms_of(type) - 1]. Their sum is x, or as near to it as the terms allow.
template <Type kType>
RUNG_ANYWHERE void split_float(float x, float* term) {
  constexpr int kDropped = kType == Type::tf32 ? 13 : 16;
  for (int i = 0; i < terms_of(kType); ++i) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &x, sizeof bits);
    const bool is_finite = (bits & 0x7f800000) != 0x7f800000;
    bits = rounded_bits(bits, kDropped);
    std::memcpy(&term[i], &bits, sizeof bits);
    x = is_finite ? x - term[i] : 0.0f;
  }
}

}  // namespace rung::wgmma
