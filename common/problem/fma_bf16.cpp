/// The oracle of the matrix unit's rate: what each pair of steps adds, in float64, times the pairs.
#include "common/problem/fma_bf16.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "common/problem/problem.hpp"

namespace rung {
namespace {

constexpr std::int64_t kChainsLimit = std::int64_t{1} << 24;
constexpr std::int64_t kIterationsLimit = std::int64_t{1} << 16;  // keeps the integers exact, the error bound small

constexpr int kAElements = kTileRows * kTileDepth, kBElements = kTileDepth * kTileCols;

Params complete(const Params& given) {
  const std::int64_t chains = positive_size(given, "chains", "chains", kChainsLimit);
  const std::int64_t iterations = positive_size(given, "iterations", "iterations", kIterationsLimit);
  if (iterations % 2) throw Error("size iterations = " + std::to_string(iterations) + " is not a multiple of 2");
  return {{"chains", chains}, {"iterations", iterations}};
}

std::vector<Operand> operands(const Params& sizes) {
  const auto sums = static_cast<std::size_t>(sizes.at("chains") * kTileSums);
  return {{.name = "x", .elements = sums},
          {.name = "a", .elements = kAElements, .type = Type::bf16},
          {.name = "b", .elements = 2 * kBElements, .type = Type::bf16},
          {.name = "y", .elements = sums, .role = Role::output}};
}

void fill_inputs(const Params& sizes, const DataSet& data, std::uint64_t seed, std::span<void* const> host) {
  fill_float({static_cast<float*>(host[0]), operands(sizes)[0].elements}, data, seed);
  std::array<float, kAElements> a{};
  std::array<float, kBElements> b0{};
  fill_float(a, data, seed + 1);
  fill_float(b0, data, seed + 2);
  std::transform(a.begin(), a.end(), static_cast<Bf16*>(host[1]), to_bf16);
  auto* b = static_cast<Bf16*>(host[2]);
  std::transform(b0.begin(), b0.end(), b, to_bf16);
  std::transform(b0.begin(), b0.end(), b + kBElements, [](float value) { return to_bf16(-value); });
  if (data.is_exact)
    for (int col = 0; col < kTileCols; ++col) {  // another row of b in each column: transposed tiles show
      const int i = (5 * col + 3) % kTileDepth * kTileCols + col;
      b[kBElements + i] = to_bf16(1 - b0[i]);
    }
}

/// Element (row, col) of a b0, and of the absolute values: how far a step goes.
struct Products {
  std::array<double, kTileSums> of_pair{};  ///< a b0 + a b1
  std::array<double, kTileSums> size{};     ///< |a| |b0|, as large as |a| |b1| or nearly
};

Products products(const Bf16* a, const Bf16* b) {
  Products result;
  for (int row = 0; row < kTileRows; ++row)
    for (int col = 0; col < kTileCols; ++col)
      for (int i = 0; i < kTileDepth; ++i) {
        const double left = from_bf16(a[row * kTileDepth + i]), right = from_bf16(b[i * kTileCols + col]);
        result.of_pair[row * kTileCols + col] += left * (right + from_bf16(b[kBElements + i * kTileCols + col]));
        result.size[row * kTileCols + col] += std::abs(left * right);
      }
  return result;
}

/// Reals: each of 32 products of each iteration rounds twice at most, at a size of at most |x| + |a| |b0|; nothing
/// stretches an error later on. Hence |error| <= gamma_{64 iterations} (|x| + |a| |b0|).
Judge reference(const Params& sizes, const DataSet& data, std::uint64_t, std::span<const void* const> host) {
  const std::int64_t sums = sizes.at("chains") * kTileSums, iterations = sizes.at("iterations");
  const Products of = products(static_cast<const Bf16*>(host[1]), static_cast<const Bf16*>(host[2]));
  const double gamma = data.is_exact ? 0 : gamma_fp32(2.0 * kTileDepth * static_cast<double>(iterations));
  return [=](std::span<const void* const> outputs) {
    const auto* x = static_cast<const float*>(outputs[0]);
    return compare_elements("y", static_cast<const float*>(outputs[3]), sums, [=](std::int64_t i) {
      const double pairs = static_cast<double>(iterations) / 2;
      return Expected{x[i] + pairs * of.of_pair[i % kTileSums], gamma * (std::abs(x[i]) + of.size[i % kTileSums])};
    });
  };
}

const bool added = add_problem({
    .family = "fma",
    .type = Type::bf16,
    .title = "Chains of tile products",
    .size_names = {"chains", "iterations"},
    .test_sizes = {{{"chains", 4}, {"iterations", 2}}, {{"chains", 12}, {"iterations", 1 << 12}}},
    .complete = complete,
    .operands = operands,
    .flops = fma_bf16_flops,
    .fill = fill_inputs,
    .reference = reference,
});

}  // namespace
}  // namespace rung
