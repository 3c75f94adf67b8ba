/// The oracle of "polynomial" evaluates it in float64. It also counts how many results have the bits of fused
/// multiply-adds, and how many the bits of separate roundings: two kernels, on either side, compute the same bits if
/// all their results equal the same one of these.
#include "common/problem/polynomial.hpp"

#include <bit>
#include <memory>
#include <numbers>

#include "common/problem/math.hpp"
#include "common/problem/problem.hpp"

namespace rung {
namespace {

constexpr std::int64_t kElementsLimit = std::int64_t{1} << 30;
const DataSet kArc{.name = "arc", .what = "reals in [-pi/2, pi/2]"};

Params complete(const Params& given) { return {{"n", positive_size(given, "n", "n", kElementsLimit)}}; }

std::vector<Operand> operands(const Params& sizes) {
  const auto elements = static_cast<std::size_t>(sizes.at("n"));
  return {{.name = "x", .elements = elements}, {.name = "y", .elements = elements, .role = Role::output}};
}

void fill_inputs(const Params& sizes, const DataSet&, std::uint64_t seed, std::span<void* const> host) {
  auto* x = static_cast<float*>(host[0]);
#pragma omp parallel for
  for (std::int64_t i = 0; i < sizes.at("n"); ++i) {
    const auto bits = static_cast<double>(random_bits(seed, static_cast<std::uint64_t>(i)) >> 11) * 0x1p-53;
    x[i] = static_cast<float>((bits - 0.5) * std::numbers::pi);
  }
}

/// The polynomial of these float32 factors, nearly exact.
double value_at(double x) {
  const double z = x * x;
  double q = 0;
  for (int i = OddPolynomial::kFactors - 1; i >= 0; --i) q = q * z + static_cast<double>(kSine.factors[i]);
  return x + q * z * x;
}

/// q has an error of at most some units of its last place, and counts for at most a third of the result.
constexpr double kUlps = 3;

/// The share of outputs that have the bits of this rounding.
template <Rounding kHow>
double share_of(const float* x, const float* y, std::int64_t n) {
  std::int64_t same = 0;
#pragma omp parallel for reduction(+ : same)
  for (std::int64_t i = 0; i < n; ++i)
    same += same_bits<std::uint32_t>(kSine.at<kHow>(x[i])) == same_bits<std::uint32_t>(y[i]);
  return static_cast<double>(same) / static_cast<double>(n);
}

Judge reference(const Params& sizes, const DataSet&, std::uint64_t, std::span<const void* const>) {
  return [n = sizes.at("n")](std::span<const void* const> host) {
    const auto *x = static_cast<const float*>(host[0]), *y = static_cast<const float*>(host[1]);
    Check check = compare_elements("y", y, n, [=](std::int64_t i) {
      const double want = value_at(x[i]);
      return Expected{want, kUlps * ulp(want)};
    });
    check.judged = {{"same_as_fused", share_of<Rounding::fused>(x, y, n)},
                    {"same_as_separate", share_of<Rounding::separate>(x, y, n)},
                    {"max_ulp", kUlps * check.max_error_ratio}};
    return check;
  };
}

const bool added = add_problem({
    .family = "polynomial",
    .title = "A polynomial",
    .metric = bandwidth(),
    .data = {kArc},
    .size_names = {"n"},
    .test_sizes = {{{"n", 1}}, {{"n", 31}}, {{"n", 1024}}, {{"n", 5003}}},
    .complete = complete,
    .operands = operands,
    .flops = [](const Params& p) { return 12.0 * p.at("n"); },
    .fill = fill_inputs,
    .reference = reference,
    .redraw = redraw_between(-std::numbers::pi / 2, std::numbers::pi / 2),
});

}  // namespace
}  // namespace rung
