/// "polynomial": y = p(x), an approximation of the sine. One definition for the CPU and the GPU, a small class with a
/// method; the question is whether both sides compute the same bits from it.
///
/// A product that is added to something can be rounded before the addition, or the two become one instruction that
/// rounds once (a fused multiply-add). C++ lets the compiler choose, so the same source may give other bits on another
/// machine. Where the source prescribes one, there is no choice: each operation of IEEE 754 has one right result.
///
/// Sizes     n: elements, up to 2^30.
/// Operand 0 `x`, input: n of float32, in [-pi/2, pi/2]. Operand 1 `y`, output: n of float32.
/// Formula   z = x x; q = (((f4 z + f3) z + f2) z + f1) z + f0; y = (q z) x + x, where f_i are the factors of Taylor's
///           series. Useful operations: 12 n. Compulsory bytes: 8 n.
#pragma once

#include <cmath>
#include <cstdint>

#include "common/host_device.hpp"

namespace rung {

/// The compiler's choice; each product and sum rounded once together; product and sum rounded separately.
enum class Rounding { contracted, fused, separate };
constexpr const char* kRoundings[] = {"contracted", "fused", "separate"};

/// a b, rounded on its own. The one place where host and device need different code: the GPU has an instruction for it;
/// a host's compiler must not see the product and the sum together, and so does not vectorise.
RUNG_ANYWHERE float rounded_product(float a, float b) {
#ifdef __CUDA_ARCH__
  return __fmul_rn(a, b);
#else
  float product = a * b;
#if defined(__x86_64__)
  asm("" : "+x"(product));
#elif defined(__aarch64__)
  asm("" : "+w"(product));
#else
  asm("" : "+m"(product));
#endif
  return product;
#endif
}
/// Of the emulator's counting numbers: stored in a variable, a product has been rounded.
template <typename T>
RUNG_ANYWHERE T rounded_product(const T& a, const T& b) {
  const T product = a * b;
  return product;
}

template <Rounding kHow, typename T>
RUNG_ANYWHERE T multiply_add(const T& a, const T& b, const T& c) {
  if constexpr (kHow == Rounding::fused) return fmaf(a, b, c);
  if constexpr (kHow == Rounding::separate) return rounded_product(a, b) + c;
  return a * b + c;
}

/// x + x^3 (f0 + f1 x^2 + …), by Horner's rule.
struct OddPolynomial {
  static constexpr int kFactors = 5;
  float factors[kFactors];

  template <Rounding kHow, typename T>
  RUNG_ANYWHERE T at(const T& x) const {
    const T z = x * x;
    T q = factors[kFactors - 1];
    for (int i = kFactors - 2; i >= 0; --i) q = multiply_add<kHow>(q, z, T(factors[i]));
    return multiply_add<kHow>(T(q * z), x, x);
  }
};

/// Taylor's series of the sine up to the eleventh power.
constexpr OddPolynomial kSine{
    {-1.0f / 6, 1.0f / 120, -1.0f / 5040, 1.0f / 362880, static_cast<float>(-1.0 / 39916800)}};

/// Calls act(std::integral_constant<Rounding, …>{}) for the place of a word in kRoundings.
template <typename Act>
void with_rounding(std::int64_t place, const Act& act) {
  if (place == 0) act(std::integral_constant<Rounding, Rounding::contracted>{});
  if (place == 1) act(std::integral_constant<Rounding, Rounding::fused>{});
  if (place == 2) act(std::integral_constant<Rounding, Rounding::separate>{});
}

}  // namespace rung
