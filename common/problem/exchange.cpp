/// The oracle of the exchange: the sum that has gone around each ring, in float64.
#include "common/problem/exchange.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "common/problem/problem.hpp"

namespace rung {
namespace {

constexpr std::int64_t kElementsLimit = std::int64_t{1} << 28;
constexpr std::int64_t kRoundsLimit = std::int64_t{1} << 16;  // keeps the integers exact

Params complete(const Params& given) {
  return {{"n", positive_size(given, "n", "n", kElementsLimit)},
          {"rounds", given.has("rounds") ? positive_size(given, "rounds", "rounds", kRoundsLimit) : 1}};
}

std::vector<Operand> operands(const Params& sizes) {
  const auto n = static_cast<std::size_t>(sizes.at("n"));
  return {
      {.name = "x", .elements = n}, {.name = "y", .elements = n}, {.name = "z", .elements = n, .role = Role::output}};
}

void fill_inputs(const Params& sizes, const DataSet& data, std::uint64_t seed, std::span<void* const> host) {
  const std::vector<Operand> all = operands(sizes);
  for (std::size_t i = 0; i < 2; ++i) fill_float({static_cast<float*>(host[i]), all[i].elements}, data, seed * 2 + i);
}

/// What every element should be, and the sum of the magnitudes that went into it.
struct Sums {
  std::vector<double> sums, magnitudes;
};

/// One ring of `width` elements, from element `first` on: whole turns at once, then the rounds that are left.
void expect_ring(const float* x, const float* y, std::int64_t first, int width, std::int64_t rounds, Sums& out) {
  double products[kExchangeRing], turn = 0, turn_magnitude = 0;
  for (int i = 0; i < width; ++i) {
    products[i] = double(x[first + i]) * y[first + i];
    turn += products[i];
    turn_magnitude += std::abs(products[i]);
  }
  const double turns = static_cast<double>(rounds / width);
  for (int i = 0; i < width; ++i) {
    double sum = turns * turn, magnitude = turns * turn_magnitude;
    for (int r = 1; r <= rounds % width; ++r) {
      sum += products[(i + r) % width];
      magnitude += std::abs(products[(i + r) % width]);
    }
    out.sums[first + i] = sum;
    out.magnitudes[first + i] = magnitude;
  }
}

/// Each product is rounded once and goes through at most `rounds` additions: |error| <= gamma_{rounds + 1} sum |p|.
Judge reference(const Params& sizes, const DataSet& data, std::uint64_t, std::span<const void* const> host) {
  const std::int64_t n = sizes.at("n"), rounds = sizes.at("rounds");
  const auto* x = static_cast<const float*>(host[0]);
  const auto* y = static_cast<const float*>(host[1]);
  const auto expected = std::make_shared<Sums>();
  expected->sums.resize(n);
  expected->magnitudes.resize(n);
#pragma omp parallel for
  for (std::int64_t first = 0; first < n; first += kExchangeRing)
    expect_ring(x, y, first, static_cast<int>(std::min<std::int64_t>(kExchangeRing, n - first)), rounds, *expected);
  const double gamma = data.is_exact ? 0 : gamma_fp32(static_cast<double>(rounds) + 1);
  return [=](std::span<const void* const> outputs) {
    return compare_elements("z", static_cast<const float*>(outputs[2]), n, [&](std::int64_t i) {
      return Expected{expected->sums[i], gamma * expected->magnitudes[i]};
    });
  };
}

const bool added = add_problem({
    .family = "exchange",
    .title = "Passing products around rings",
    .size_names = {"n", "rounds"},
    .test_sizes = {{{"n", 1}, {"rounds", 3}}, {{"n", 33}, {"rounds", 5}}, {{"n", 1055}, {"rounds", 40}}},
    .complete = complete,
    .operands = operands,
    .flops = [](const Params& p) { return static_cast<double>(p.at("n")) * (1.0 + p.at("rounds")); },
    .fill = fill_inputs,
    .reference = reference,
});

}  // namespace
}  // namespace rung
