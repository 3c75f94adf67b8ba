/// One dot product as a wgmma of an H100 or H200 adds it, of TF32 or BF16 inputs: products are exact; they and the sum
/// so far are cut off, towards zero, 25 bits after the leading bit of the largest of them; what remains is added
/// exactly and cut off to float32. Source: Xie, Wang, Yang, Yang: MMA-Sim: Bit-Accurate Reference Model of Tensor Cores
/// and Matrix Cores, 2025.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <span>

namespace rung::model {

/// The exponent of a float's leading bit; for subnormal numbers the smallest normal exponent; for 0 less than any.
inline int exponent_of(float x) {
  if (x == 0) return -1000;
  return std::max(static_cast<int>(std::bit_cast<std::uint32_t>(x) >> 23 & 0xff), 1) - 127;
}

/// 2^exponent, of a normal double.
inline double power_of_two(int exponent) { return std::bit_cast<double>(std::uint64_t(1023 + exponent) << 52); }

/// The float32 next to x towards zero.
inline float cut_off(double x) {
  const auto nearest = static_cast<float>(x);
  const bool is_beyond = std::abs(static_cast<double>(nearest)) > std::abs(x);
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(nearest) - std::uint32_t{is_beyond});
}

/// sum + a b, of finite numbers.
inline float dot(std::span<const float> a, std::span<const float> b, float sum) {
  constexpr int kBits = 25;
  int largest = exponent_of(sum);
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, exponent_of(a[i]) + exponent_of(b[i]));
  if (largest < -600) return 0;
  const double unit = power_of_two(largest - kBits), per_unit = power_of_two(kBits - largest);
  double units = std::trunc(sum * per_unit);
  for (std::size_t i = 0; i < a.size(); ++i) units += std::trunc(double(a[i]) * b[i] * per_unit);
  return cut_off(units * unit);
}

}  // namespace rung::model
