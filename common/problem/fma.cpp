/// The oracle of the multiply-add rate: the iterated map in closed form, in float64.
#include "common/problem/fma.hpp"

#include <algorithm>
#include <cmath>

namespace rung {
namespace {

constexpr std::int64_t kChainsLimit = std::int64_t{1} << 32;
constexpr std::int64_t kIterationsLimit = std::int64_t{1} << 20;  // keeps the integers exact, the error bound small

/// x -> scale x + shift.
struct Affine {
  double scale = 1, shift = 0;
  Affine then(const Affine& next) const { return {next.scale * scale, next.scale * shift + next.shift}; }
};

/// The map applied n times, by repeated squaring.
Affine power(Affine map, std::int64_t n) {
  Affine result;
  for (; n > 0; n /= 2) {
    if (n % 2) result = result.then(map);
    map = map.then(map);
  }
  return result;
}

Params complete(const Params& given) {
  const std::int64_t chains = positive_size(given, "chains", "chains", kChainsLimit);
  const std::int64_t iterations = positive_size(given, "iterations", "iterations", kIterationsLimit);
  if (iterations % kFmaGranule)
    throw Error("size iterations = " + std::to_string(iterations) + " is not a multiple of " +
                std::to_string(kFmaGranule));
  return {{"chains", chains}, {"iterations", iterations}};
}

}  // namespace

std::vector<Operand> fma_operands(const Params& sizes) {
  const auto chains = static_cast<std::size_t>(sizes.at("chains"));
  return {{.name = "x", .elements = chains},
          {.name = "coefficients", .elements = 4},
          {.name = "y", .elements = chains, .role = Role::output}};
}

void fill_fma(const Params& sizes, const DataSet& data, std::uint64_t seed, std::span<void* const> host) {
  fill_float({static_cast<float*>(host[0]), fma_operands(sizes)[0].elements}, data, seed);
  fill_coefficients(data, static_cast<float*>(host[1]));
}

Judge fma_reference(const Params& sizes, const DataSet& data, std::uint64_t, std::span<const void* const> host) {
  const std::int64_t chains = sizes.at("chains");
  const IteratedSteps steps(static_cast<const float*>(host[1]), sizes.at("iterations"), data.is_exact);
  return [=](std::span<const void* const> outputs) {
    const auto* x = static_cast<const float*>(outputs[0]);
    return compare_elements("y", static_cast<const float*>(outputs[2]), chains,
                            [=](std::int64_t i) { return steps.of(x[i]); });
  };
}

namespace {

const bool fma_added = add_problem({
    .family = "fma",
    .title = "Chains of multiply-adds",
    .size_names = {"chains", "iterations"},
    .test_sizes = {{{"chains", 160}, {"iterations", 16}},
                   {{"chains", 5120}, {"iterations", 64}},
                   {{"chains", 1120}, {"iterations", 1 << 12}}},
    .complete = complete,
    .operands = fma_operands,
    .flops = fma_flops,
    .fill = fill_fma,
    .reference = fma_reference,
});

}  // namespace

void fill_coefficients(const DataSet& data, float* c) {
  if (data.is_exact) {
    std::copy_n(std::begin({-1.0f, 3.0f, -1.0f, 4.0f}), 4, c);
  } else {  // a0 a1 and a1 b0 + b1 are 1 and 0 up to rounding: the second step undoes the first
    c[0] = -1.3f;
    c[1] = 0.7f;
    c[2] = 1 / c[0];
    c[3] = -c[2] * c[1];
  }
}

/// Each step rounds once (twice, if multiplication and addition are separate), with at most the largest |x| on the way
/// times u; later steps stretch an error by at most |a0|. Hence |error| <= gamma_{2 iterations} |a0| max|x|.
IteratedSteps::IteratedSteps(const float* c, std::int64_t iterations, bool is_exact) {
  const Affine even{c[0], c[1]}, odd{c[2], c[3]};
  const Affine all = power(even.then(odd), iterations / 2);
  scale_ = all.scale;
  shift_ = all.shift;
  stretch_ = std::max(1.0, std::abs(even.scale));
  even_shift_ = even.shift;
  gamma_ = is_exact ? 0 : gamma_fp32(2.0 * static_cast<double>(iterations)) * stretch_;
}

Expected IteratedSteps::of(float x) const {
  const double want = scale_ * x + shift_;
  const double largest = stretch_ * std::max(std::abs(want), std::abs(double{x})) + std::abs(even_shift_);
  return {want, gamma_ * largest};
}

}  // namespace rung
