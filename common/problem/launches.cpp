/// The oracle of "launches" takes all steps of an element at once: whole numbers, so every result must be equal.
#include "common/problem/launches.hpp"

#include "common/problem/problem.hpp"

namespace rung {
namespace {

constexpr std::int64_t kElementsLimit = std::int64_t{1} << 24;
const DataSet kBits{.name = "bits", .what = "random bits", .is_exact = true};

Params complete(const Params& given) {
  return {{"n", positive_size(given, "n", "n", kElementsLimit)},
          {"launches", positive_size(given, "launches", "launches", kMostLaunches)}};
}

std::vector<Operand> operands(const Params& sizes) {
  const auto elements = static_cast<std::size_t>(sizes.at("n"));
  return {{.name = "x", .elements = elements, .type = Type::uint32},
          {.name = "y", .elements = elements, .type = Type::uint32, .role = Role::output}};
}

void fill_inputs(const Params& sizes, const DataSet&, std::uint64_t seed, std::span<void* const> host) {
  auto* x = static_cast<std::uint32_t*>(host[0]);
  for (std::int64_t i = 0; i < sizes.at("n"); ++i)
    x[i] = static_cast<std::uint32_t>(random_bits(seed, static_cast<std::uint64_t>(i)));
}

Judge reference(const Params& sizes, const DataSet&, std::uint64_t, std::span<const void* const>) {
  return [n = sizes.at("n"), steps = sizes.at("launches")](std::span<const void* const> host) {
    const auto* x = static_cast<const std::uint32_t*>(host[0]);
    return compare_elements("y", static_cast<const std::uint32_t*>(host[1]), n, [=](std::int64_t i) {
      std::uint32_t want = x[i];
      for (std::int64_t step = 0; step < steps; ++step) want = scrambled_word(want);
      return Expected{static_cast<double>(want)};
    });
  };
}

const bool added = add_problem({
    .family = "launches",
    .type = Type::uint32,
    .title = "Small steps one after another",
    .metric = {.key = "launches_per_s",
               .unit = "launch/s",
               .amount = [](const Params& p) { return 1e9 * static_cast<double>(p.at("launches")); }},
    .data = {kBits},
    .size_names = {"n", "launches"},
    .size_what = {{"launches", "launches"}},
    .test_sizes = {{{"n", 1}, {"launches", 1}},
                   {{"n", 33}, {"launches", 2}},
                   {{"n", 1000}, {"launches", 7}},
                   {{"n", 1024}, {"launches", 64}}},
    .complete = complete,
    .operands = operands,
    .flops = [](const Params&) { return 0.0; },
    .fill = fill_inputs,
    .reference = reference,
    .redraw = redraw_word,
});

}  // namespace
}  // namespace rung
