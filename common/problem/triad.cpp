/// The oracle of the triad: each element in float64, exact on whole numbers, within two roundings on reals.
#include "common/problem/triad.hpp"

#include <cmath>

#include "common/problem/problem.hpp"

namespace rung {
namespace {

constexpr std::int64_t kBytesLimit = std::int64_t{1} << 40;
constexpr std::int64_t kPassesLimit = std::int64_t{1} << 32;

Params complete(const Params& given) {
  const std::int64_t bytes = positive_size(given, "bytes", "bytes", kBytesLimit);
  if (bytes % kTriadGranule)
    throw Error("size bytes = " + std::to_string(bytes) + " is not a multiple of " + std::to_string(kTriadGranule));
  return {{"bytes", bytes}, {"passes", given.has("passes") ? positive_size(given, "passes", "", kPassesLimit) : 1}};
}

/// Omits passes = 1, the default.
Params brief(const Params& sizes) { return sizes.at("passes") == 1 ? Params{{"bytes", sizes.at("bytes")}} : sizes; }

std::vector<Operand> operands(const Params& sizes) {
  const auto elements = static_cast<std::size_t>(sizes.at("bytes") / 4);
  return {{.name = "b", .elements = elements},
          {.name = "c", .elements = elements},
          {.name = "a", .elements = elements, .role = Role::output}};
}

void fill_inputs(const Params& sizes, const DataSet& data, std::uint64_t seed, std::span<void* const> host) {
  const std::size_t elements = operands(sizes)[0].elements;
  fill_float({static_cast<float*>(host[0]), elements}, data, seed);
  fill_float({static_cast<float*>(host[1]), elements}, data, seed + 1);
}

/// One rounding of the product, one of the sum: |error| <= gamma_2 (|b| + s |c|); none on whole numbers.
Judge reference(const Params& sizes, const DataSet& data, std::uint64_t, std::span<const void* const>) {
  const auto n = static_cast<std::int64_t>(operands(sizes)[0].elements);
  const double gamma = data.is_exact ? 0 : gamma_fp32(2);
  return [=](std::span<const void* const> host) {
    const auto *b = static_cast<const float*>(host[0]), *c = static_cast<const float*>(host[1]);
    return compare_elements("a", static_cast<const float*>(host[2]), n, [=](std::int64_t i) {
      const double product = double{kTriadFactor} * c[i];
      return Expected{b[i] + product, gamma * (std::abs(b[i]) + std::abs(product))};
    });
  };
}

const bool added = add_problem({
    .family = "triad",
    .title = "STREAM triad",
    .metric = bandwidth(),
    .size_names = {"bytes", "passes"},
    .test_sizes = {{{"bytes", 256}}, {{"bytes", 65536 + 256}}},
    .complete = complete,
    .brief = brief,
    .unusual = [](const Params& sizes) { return sizes.get("passes", 1) == 1 ? "" : "passes"; },
    .operands = operands,
    .flops = triad_flops,
    .bytes_min = triad_bytes,
    .fill = fill_inputs,
    .reference = reference,
});

}  // namespace
}  // namespace rung
