/// The oracle of the matrix unit's rate: what each pair of steps adds, in float64, times the pairs.
#include "common/problem/fma_tiles.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "common/problem/problem.hpp"

namespace rung {
namespace {

constexpr std::int64_t kChainsLimit = std::int64_t{1} << 24;
constexpr std::int64_t kIterationsLimit = std::int64_t{1} << 16;  // keeps the integers exact, the error bound small

/// How a matrix unit stores numbers of one type, and how well it adds up their products.
template <typename Stored, typename Sum = float>
struct Unit {
  Type type;
  Stored (*narrow)(float);
  float (*widen)(Stored);
  double unit_roundoff = 0x1p-24;

  int depth() const { return tile_depth(type); }
  int elements() const { return kTileRows * depth(); }  // of a tile of a, or of b
  Type sum_type() const { return std::is_same_v<Sum, float> ? Type::fp32 : Type::int32; }
};

Params complete(const Params& given) {
  const std::int64_t chains = positive_size(given, "chains", "chains", kChainsLimit);
  const std::int64_t iterations = positive_size(given, "iterations", "iterations", kIterationsLimit);
  if (iterations % 2) throw Error("size iterations = " + std::to_string(iterations) + " is not a multiple of 2");
  return {{"chains", chains}, {"iterations", iterations}};
}

template <typename Stored, typename Sum>
std::vector<Operand> operands(const Unit<Stored, Sum>& unit, const Params& sizes) {
  const auto sums = static_cast<std::size_t>(sizes.at("chains") * kTileSums);
  const auto factors = static_cast<std::size_t>(unit.elements());
  return {{.name = "x", .elements = sums, .type = unit.sum_type()},
          {.name = "a", .elements = factors, .type = unit.type},
          {.name = "b", .elements = 2 * factors, .type = unit.type},
          {.name = "y", .elements = sums, .type = unit.sum_type(), .role = Role::output}};
}

/// Numbers that are exact in every format: whole ones from -2 to 2, or reals.
void fill_factors(std::span<float> to, const DataSet& data, std::uint64_t seed) {
  fill_float(to, data, seed);
  if (data.is_exact)
    for (float& x : to) x = std::trunc(x / 4);
}

template <typename Stored, typename Sum>
void fill_inputs(const Unit<Stored, Sum>& unit, const Params& sizes, const DataSet& data, std::uint64_t seed,
                 std::span<void* const> host) {
  std::vector<float> x(operands(unit, sizes)[0].elements), a(unit.elements()), b(unit.elements());
  fill_float(x, data, seed);
  std::transform(x.begin(), x.end(), static_cast<Sum*>(host[0]), [](float value) { return static_cast<Sum>(value); });
  fill_factors(a, data, seed + 1);
  fill_factors(b, data, seed + 2);
  std::transform(a.begin(), a.end(), static_cast<Stored*>(host[1]), unit.narrow);
  auto* b0 = static_cast<Stored*>(host[2]);
  auto* b1 = b0 + unit.elements();
  std::transform(b.begin(), b.end(), b0, unit.narrow);
  std::transform(b.begin(), b.end(), b1, [&](float value) { return unit.narrow(-value); });
  if (data.is_exact)
    for (int col = 0; col < kTileCols; ++col) {  // another row of b in each column: transposed tiles show
      const int i = (5 * col + 3) % unit.depth() * kTileCols + col;
      b1[i] = unit.narrow(1 - b[i]);
    }
}

/// Element (row, col) of a b0, and of the absolute values: how far a step goes.
struct Products {
  std::array<double, kTileSums> of_pair{};  ///< a b0 + a b1
  std::array<double, kTileSums> size{};     ///< |a| |b0|, as large as |a| |b1| or nearly
};

template <typename Stored, typename Sum>
Products products(const Unit<Stored, Sum>& unit, const Stored* a, const Stored* b) {
  Products result;
  for (int row = 0; row < kTileRows; ++row)
    for (int col = 0; col < kTileCols; ++col)
      for (int i = 0; i < unit.depth(); ++i) {
        const double left = unit.widen(a[row * unit.depth() + i]), right = unit.widen(b[i * kTileCols + col]);
        result.of_pair[row * kTileCols + col] += left * (right + unit.widen(b[unit.elements() + i * kTileCols + col]));
        result.size[row * kTileCols + col] += std::abs(left * right);
      }
  return result;
}

/// Reals: each of `depth` products of each iteration rounds twice at most, at a size of at most |x| + |a| |b0|; nothing
/// stretches an error later on. Hence |error| <= gamma_{2 depth iterations} (|x| + |a| |b0|).
template <typename Stored, typename Sum>
Judge reference(const Unit<Stored, Sum>& unit, const Params& sizes, const DataSet& data,
                std::span<const void* const> host) {
  const std::int64_t sums = sizes.at("chains") * kTileSums, iterations = sizes.at("iterations");
  const Products of = products(unit, static_cast<const Stored*>(host[1]), static_cast<const Stored*>(host[2]));
  const double roundings = 2.0 * unit.depth() * static_cast<double>(iterations);
  const double gamma = data.is_exact                   ? 0
                       : unit.unit_roundoff == 0x1p-24 ? gamma_fp32(roundings)
                                                       : roundings * unit.unit_roundoff;
  return [=](std::span<const void* const> outputs) {
    const auto* x = static_cast<const Sum*>(outputs[0]);
    return compare_elements("y", static_cast<const Sum*>(outputs[3]), sums, [=](std::int64_t i) {
      const double pairs = static_cast<double>(iterations) / 2, before = x[i];
      return Expected{before + pairs * of.of_pair[i % kTileSums], gamma * (std::abs(before) + of.size[i % kTileSums])};
    });
  };
}

template <typename Stored, typename Sum>
bool add(const Unit<Stored, Sum>& unit) {
  return add_problem({
      .family = "fma",
      .type = unit.type,
      .title = "Chains of tile products",
      .data = unit.sum_type() == Type::fp32 ? std::vector{integers(), random_reals()} : std::vector{integers()},
      .size_names = {"chains", "iterations"},
      .test_sizes = {{{"chains", 4}, {"iterations", 2}}, {{"chains", 12}, {"iterations", 1 << 12}}},
      .complete = complete,
      .operands = [=](const Params& sizes) { return operands(unit, sizes); },
      .flops = [=](const Params& p) { return 2.0 * kTileSums * unit.depth() * p.at("chains") * p.at("iterations"); },
      .fill = [=](const Params& sizes, const DataSet& data, std::uint64_t seed,
                  std::span<void* const> host) { fill_inputs(unit, sizes, data, seed, host); },
      .reference = [=](const Params& sizes, const DataSet& data, std::uint64_t,
                       std::span<const void* const> host) { return reference(unit, sizes, data, host); },
  });
}

float same(float x) { return x; }
std::int8_t to_int8(float x) { return static_cast<std::int8_t>(x); }
float from_int8(std::int8_t x) { return x; }

const bool added = add(Unit<Bf16>{Type::bf16, to_bf16, from_bf16}) && add(Unit<float>{Type::tf32, to_tf32, same}) &&
                   add(Unit<Fp8>{Type::fp8, to_fp8, from_fp8, 0x1p-13}) &&
                   add(Unit<std::int8_t, std::int32_t>{Type::int8, to_int8, from_int8});

}  // namespace
}  // namespace rung
