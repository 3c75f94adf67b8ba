/// "prefix_sum": the inclusive scan with addition. Each result depends on every element before it, and yet most of the
/// work can be done at once: sums of neighbouring parts, put together afterwards.
///
/// Sizes     n: elements, up to 2^30 (so that an index and a tile beyond it fit 32 bits).
/// Operand 0 `x`, input: n elements of float32.
/// Operand 1 `y`, output: likewise.
/// Formula   y[i] = x[0] + … + x[i], in any order.
/// Useful operations: n - 1. Compulsory bytes: 8 n, one read and one write.
///
/// The oracle adds in float64. Sums of whole numbers from -8 to 8 stay far below 2^24, the end of float32's whole
/// numbers, so that every order gives the same bits and one element too many or too few shows in all that follow.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <vector>

#include "common/problem/problem.hpp"

namespace rung {
namespace {

constexpr std::int64_t kElementsLimit = std::int64_t{1} << 30;
constexpr std::int64_t kStep = 64;  // elements from one stored sum of the oracle to the next

Params complete(const Params& given) { return {{"n", positive_size(given, "n", "n", kElementsLimit)}}; }

std::vector<Operand> operands(const Params& sizes) {
  const auto elements = static_cast<std::size_t>(sizes.at("n"));
  return {{.name = "x", .elements = elements}, {.name = "y", .elements = elements, .role = Role::output}};
}

void fill_inputs(const Params& sizes, const DataSet& data, std::uint64_t seed, std::span<void* const> host) {
  fill_float({static_cast<float*>(host[0]), operands(sizes)[0].elements}, data, seed);
}

/// The sums of elements and of their magnitudes.
struct Sums {
  double value = 0, magnitude = 0;

  void add(float x) {
    value += x;
    magnitude += std::abs(x);
  }
};

/// The bound of "sum" for each prefix: any order of i additions, with high probability (Higham and Mary, 2019).
double rounding_bound(std::int64_t i, double magnitude) {
  const auto additions = static_cast<double>(i);
  return gamma_fp32(std::min(additions, 4 * std::sqrt(additions + 1))) * magnitude;
}

/// Keeps the sums before every kStep-th element; what lies between is added again for each comparison.
Judge reference(const Params& sizes, const DataSet& data, std::uint64_t, std::span<const void* const> host) {
  const std::int64_t n = sizes.at("n");
  const auto* x = static_cast<const float*>(host[0]);
  const auto stored = std::make_shared<std::vector<Sums>>();
  stored->reserve(static_cast<std::size_t>(n / kStep + 1));
  Sums all;
  for (std::int64_t i = 0; i < n; ++i) {
    if (i % kStep == 0) stored->push_back(all);
    all.add(x[i]);
  }
  return [=, is_exact = data.is_exact](std::span<const void* const> given) {
    const auto* elements = static_cast<const float*>(given[0]);
    return compare_in_order("y", static_cast<const float*>(given[1]), n, kStep, [&](std::int64_t begin) {
      return [&, sums = (*stored)[static_cast<std::size_t>(begin / kStep)]](std::int64_t i) mutable {
        sums.add(elements[i]);
        return Expected{sums.value, is_exact ? 0 : rounding_bound(i, sums.magnitude)};
      };
    });
  };
}

/// A number several times the bound on the error of the whole sum, which is not below 1 either: the sum without it is
/// wrong.
void redraw(const Params& sizes, std::uint64_t bits, void* element) {
  const std::int64_t n = sizes.at("n");
  const double fraction = static_cast<double>(bits >> 12) / static_cast<double>(std::uint64_t{1} << 52);
  const double size = (1 + fraction) * (2 + 4 * rounding_bound(n, static_cast<double>(n)));
  const auto number = static_cast<float>(bits % 2 == 0 ? size : -size);
  std::memcpy(element, &number, sizeof number);
}

const bool added = add_problem({
    .family = "prefix_sum",
    .title = "Prefix sum",
    .metric = bandwidth(),
    .size_names = {"n"},
    .test_sizes = {{{"n", 1}}, {{"n", 3}}, {{"n", 127}}, {{"n", 1025}}, {{"n", 3001}}, {{"n", 4096}}, {{"n", 70001}}},
    .complete = complete,
    .operands = operands,
    .flops = [](const Params& p) { return p.at("n") - 1.0; },
    .fill = fill_inputs,
    .reference = reference,
    .redraw = redraw,
});

}  // namespace
}  // namespace rung
