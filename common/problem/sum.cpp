/// The oracle of the sum: the float64 sum, with a bound on the roundings of any order of additions.
#include "common/problem/sum.hpp"

#include <algorithm>
#include <cmath>

#include "common/problem/problem.hpp"

namespace rung {
namespace {

constexpr std::int64_t kElementsLimit = std::int64_t{1} << 30;

Params complete(const Params& given) { return {{"n", positive_size(given, "n", "n", kElementsLimit)}}; }

std::vector<Operand> operands(const Params& sizes) {
  return {{.name = "x", .elements = static_cast<std::size_t>(sizes.at("n"))},
          {.name = "ticket", .elements = 1},
          {.name = "sum", .elements = 1, .is_output = true},
          {.name = "partials", .elements = kSumPartials, .is_output = true}};
}

void fill_inputs(const Params& sizes, Fill fill, std::uint64_t seed, std::span<void* const> host) {
  fill_float({static_cast<float*>(host[0]), operands(sizes)[0].elements}, fill, seed);
  *static_cast<std::uint32_t*>(host[1]) = 0;
}

/// A term goes through at most n - 1 additions, so |error| <= gamma_{n - 1} sum |x|, which says nothing of a long sum.
/// Rounding errors go up and down, and together grow like the root of their number: with a small constant times sqrt(n)
/// in place of n the bound holds with high probability (Higham and Mary, 2019). The constant here is 4.
double rounding_bound(std::int64_t n, double magnitude) {
  const auto terms = static_cast<double>(n);
  return gamma_fp32(std::min(terms - 1, 4 * std::sqrt(terms))) * magnitude;
}

Judge reference(const Params& sizes, Fill fill, std::uint64_t, std::span<const void* const> host) {
  const std::int64_t n = sizes.at("n");
  const auto* x = static_cast<const float*>(host[0]);
  double want = 0, magnitude = 0;
#pragma omp parallel for reduction(+ : want, magnitude)
  for (std::int64_t i = 0; i < n; ++i) {
    want += x[i];
    magnitude += std::abs(x[i]);
  }
  const double bound = fill == Fill::integers ? 0 : rounding_bound(n, magnitude);
  return [=](std::span<const void* const> outputs) {
    const float got = *static_cast<const float*>(outputs[2]);
    const double error = std::abs(got - want);
    Check check;
    if (!(error <= bound)) check.failure = "the sum is " + std::to_string(got) + ", not " + std::to_string(want);
    if (bound > 0) check.max_error_ratio = error / bound;
    return check;
  };
}

const bool added = add_problem({
    .name = "sum",
    .size_names = {"n"},
    .complete = complete,
    .brief = [](const Params& sizes) { return sizes; },
    .operands = operands,
    .flops = [](const Params& p) { return p.at("n") - 1.0; },
    .bytes_min = [](const Params& p) { return 4.0 * p.at("n") + 4; },
    .fill = fill_inputs,
    .reference = reference,
});

}  // namespace
}  // namespace rung
