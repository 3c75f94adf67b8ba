/// "histogram": how often each of the 256 values of a byte occurs. Reading is cheap; threads contend for the counters,
/// and contention grows with the share of equal values.
///
/// Sizes     n: values, up to 2^30.
///           percent: how many of 100 values are equal, 0 if not given; the data set distributes the others.
/// Operand 0 `values`, input: n bytes, each a number from 0 to 255.
/// Operand 1 `counts`, output: 256 elements of uint32.
/// Formula   counts[v] = the number of i with values[i] = v.
/// Useful operations: none in floating point. Compulsory bytes: each value read once, each count written once.
#include "common/problem/histogram.hpp"

#include <array>
#include <memory>

#include "common/problem/problem.hpp"

namespace rung {
namespace {

constexpr std::int64_t kValuesLimit = std::int64_t{1} << 30;
constexpr unsigned char kFrequent = 85;  ///< the value that `percent` of all are

const DataSet kUniform{.name = "uniform", .what = "the other values over all 256 alike", .is_exact = true};
const DataSet kFew{.name = "few", .what = "the other values over four neighbouring ones", .is_exact = true};
const DataSet kRuns{.name = "runs", .what = "uniform, but 64 neighbours alike, as in a picture", .is_exact = true};

Params complete(const Params& given) {
  const std::int64_t percent = given.get("percent", 0);
  if (percent < 0 || percent > 100) throw Error("size percent = " + std::to_string(percent) + " is outside 0..100");
  return {{"n", positive_size(given, "n", "n", kValuesLimit)}, {"percent", percent}};
}

std::vector<Operand> operands(const Params& sizes) {
  return {{.name = "values", .elements = static_cast<std::size_t>(sizes.at("n")), .type = Type::int8},
          {.name = "counts", .elements = kBins, .type = Type::uint32, .role = Role::output}};
}

/// A value from 64 random bits.
unsigned char value_of(std::uint64_t bits, std::int64_t percent, bool few) {
  if (static_cast<std::int64_t>((bits >> 32) % 100) < percent) return kFrequent;
  return static_cast<unsigned char>(few ? 100 + bits % 4 : bits % kBins);
}

void fill_inputs(const Params& sizes, const DataSet& data, std::uint64_t seed, std::span<void* const> host) {
  auto* values = static_cast<unsigned char*>(host[0]);
  const std::int64_t n = sizes.at("n"), percent = sizes.at("percent");
  const std::int64_t run = data.name == kRuns.name ? 64 : 1;
  const bool few = data.name == kFew.name;
#pragma omp parallel for
  for (std::int64_t i = 0; i < n; ++i)
    values[i] = value_of(random_bits(seed, static_cast<std::uint64_t>(i / run)), percent, few);
}

Judge reference(const Params& sizes, const DataSet&, std::uint64_t, std::span<const void* const> host) {
  const std::int64_t n = sizes.at("n");
  const auto* values = static_cast<const unsigned char*>(host[0]);
  std::array<std::uint64_t, kBins> counts{};
#pragma omp parallel
  {
    std::array<std::uint64_t, kBins> own{};
#pragma omp for
    for (std::int64_t i = 0; i < n; ++i) ++own[values[i]];
#pragma omp critical
    for (std::size_t bin = 0; bin < own.size(); ++bin) counts[bin] += own[bin];
  }
  return [counts](std::span<const void* const> given) {
    return compare_elements("counts", static_cast<const std::uint32_t*>(given[1]), kBins, [&](std::int64_t bin) {
      return Expected{static_cast<double>(counts[static_cast<std::size_t>(bin)])};
    });
  };
}

const bool added = add_problem({
    .family = "histogram",
    .type = Type::int8,
    .title = "Histogram of bytes",
    .metric = bandwidth(),
    .data = {kUniform, kFew, kRuns},
    .size_names = {"n", "percent"},
    .size_what = {{"percent", "% of the elements at one counter"}},
    .test_sizes = {{{"n", 1}},
                   {{"n", 15}, {"percent", 50}},
                   {{"n", 1024}, {"percent", 100}},
                   {{"n", 4099}},
                   {{"n", 70001}, {"percent", 90}}},
    .complete = complete,
    .brief =
        [](const Params& sizes) {
          Params shown{{"n", sizes.at("n")}};
          if (sizes.at("percent") != 0) shown.set("percent", sizes.at("percent"));
          return shown;
        },
    .operands = operands,
    .flops = [](const Params&) { return 0.0; },
    .fill = fill_inputs,
    .reference = reference,
    .redraw = [](const Params&, std::uint64_t bits,
                 void* element) { *static_cast<unsigned char*>(element) = static_cast<unsigned char>(bits % kBins); },
});

}  // namespace
}  // namespace rung
