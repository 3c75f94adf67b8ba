/// "sum": the sum of an array, whose parts must meet somewhere: blocks cannot wait for each other within a launch.
///
/// Sizes     n: elements, up to 2^30 (so that an index and a step beyond it fit 32 bits).
/// Operand 0 `x`, input: n elements of float32.
/// Operand 1 `sum`, output: one float32.
/// Formula   sum = x[0] + … + x[n - 1], in any order.
/// Useful operations: n - 1. Compulsory bytes: each element of x read once, the sum written once.
///
/// The oracle is the float64 sum, with a bound on the rounding errors of any order of additions.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "common/problem/problem.hpp"

namespace rung {
namespace {

constexpr std::int64_t kElementsLimit = std::int64_t{1} << 30;

Params complete(const Params& given) { return {{"n", positive_size(given, "n", "n", kElementsLimit)}}; }

std::vector<Operand> operands(const Params& sizes) {
  return {{.name = "x", .elements = static_cast<std::size_t>(sizes.at("n"))},
          {.name = "sum", .elements = 1, .role = Role::output}};
}

void fill_inputs(const Params& sizes, const DataSet& data, std::uint64_t seed, std::span<void* const> host) {
  fill_float({static_cast<float*>(host[0]), operands(sizes)[0].elements}, data, seed);
}

/// A term goes through at most n - 1 additions, so |error| <= gamma_{n - 1} sum |x|, which is useless for a long sum.
/// Rounding errors have either sign, and together grow like the root of their number: with a small constant times
/// sqrt(n) instead of n the bound holds with high probability (Higham and Mary, 2019). The constant here is 4.
double rounding_bound(std::int64_t n, double magnitude) {
  const auto terms = static_cast<double>(n);
  return gamma_fp32(std::min(terms - 1, 4 * std::sqrt(terms))) * magnitude;
}

Judge reference(const Params& sizes, const DataSet& data, std::uint64_t, std::span<const void* const> host) {
  const std::int64_t n = sizes.at("n");
  const auto* x = static_cast<const float*>(host[0]);
  double want = 0, magnitude = 0;
#pragma omp parallel for reduction(+ : want, magnitude)
  for (std::int64_t i = 0; i < n; ++i) {
    want += x[i];
    magnitude += std::abs(x[i]);
  }
  const double bound = data.is_exact ? 0 : rounding_bound(n, magnitude);
  return [=](std::span<const void* const> outputs) {
    return compare_elements("sum", static_cast<const float*>(outputs[1]), 1, [=](std::int64_t) {
      return Expected{want, bound};
    });
  };
}

/// A number several times the bound on the error of the whole sum, which is not below 1 either: the sum without it is
/// wrong. All are positive, so that several cannot cancel each other.
void redraw(const Params& sizes, std::uint64_t bits, void* element) {
  const std::int64_t n = sizes.at("n");
  const double fraction = static_cast<double>(bits >> 12) / static_cast<double>(std::uint64_t{1} << 52);
  const double size = (1 + fraction) * (2 + 4 * rounding_bound(n, static_cast<double>(n)));
  const auto number = static_cast<float>(size);
  std::memcpy(element, &number, sizeof number);
}

const bool added = add_problem({
    .family = "sum",
    .title = "Sum of an array",
    .metric = bandwidth(),
    .size_names = {"n"},
    .test_sizes = {{{"n", 1}}, {{"n", 255}}, {{"n", 257}}, {{"n", 4096}}, {{"n", 10001}}},
    .complete = complete,
    .operands = operands,
    .flops = [](const Params& p) { return p.at("n") - 1.0; },
    .fill = fill_inputs,
    .reference = reference,
    .redraw = redraw,
});

}  // namespace
}  // namespace rung
