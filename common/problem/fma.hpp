/// "fma": independent chains of fused multiply-adds held in registers, to measure the peak arithmetic rate.
///
/// Sizes     chains: how many numbers are iterated, any count (a kernel may refuse one that is no multiple of its
///           group); iterations: multiply-adds per chain, a multiple of 16 (so unrolled loops need no tail), <= 2^20.
/// Operand 0 `x`, input: `chains` elements of float32 in [-8, 8].
/// Operand 1 `coefficients`, input: 4 elements of float32: a0, b0, a1, b1. Load them once, before the loop.
/// Operand 2 `y`, output: `chains` elements of float32.
/// Formula   the two steps in turn, `iterations` in all (so iterations / 2 of each), then y[i] = x:
///               x = x * a0 + b0;   x = x * a1 + b1;
/// Useful operations: 2 x chains x iterations.
///
/// Why two steps: with one, x runs into the fixed point b / (1 - a) and the units multiply the same number for ever,
/// which neither tests the result nor draws the power of real work. Here the second step undoes
/// the first, nearly: a0 a1 = 1 up to rounding, so each chain keeps its own value and stays bounded.
/// With Fill::integers, a0 = a1 = -1, b0 = 3, b1 = 4: exactly y = x + iterations / 2, so every step is accounted for.
#pragma once

#include <cstdint>

#include "common/problem/problem.hpp"

namespace rung {

/// Chains are iterated a whole multiple of this many times.
constexpr std::int64_t kFmaGranule = 16;

/// The coefficients a0, b0, a1, b1 of a data set.
void fill_coefficients(const DataSet& data, float* coefficients);

/// `iterations` steps with these coefficients, worked out in float64.
class IteratedSteps {
 public:
  IteratedSteps(const float* coefficients, std::int64_t iterations, bool is_exact);
  /// What a chain that begins with x ends with.
  Expected of(float x) const;

 private:
  double scale_, shift_;         ///< of all steps together
  double stretch_, even_shift_;  ///< the most that a step can make of an error, and that it adds to a value
  double gamma_;
};

inline double fma_flops(const Params& p) { return 2.0 * p.at("chains") * p.at("iterations"); }

/// Of `sizes` with chains and iterations, for every problem of this arithmetic: its operands, its inputs, its oracle.
std::vector<Operand> fma_operands(const Params& sizes);
void fill_fma(const Params& sizes, const DataSet& data, std::uint64_t seed, std::span<void* const> host);
Judge fma_reference(const Params& sizes, const DataSet& data, std::uint64_t seed, std::span<const void* const> host);

}  // namespace rung
