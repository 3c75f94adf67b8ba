/// The oracle of "work_array" does the same on the host, with an array that is there from the start: whole numbers, so
/// every result must be equal.
#include "common/problem/work_array.hpp"

#include <cstring>

#include "common/problem/problem.hpp"

namespace rung {
namespace {

constexpr std::int64_t kItemsLimit = std::int64_t{1} << 24;
const DataSet kBits{.name = "bits", .what = "random bits", .is_exact = true};

Params complete(const Params& given) {
  return {{"n", positive_size(given, "n", "n", kItemsLimit)},
          {"length", positive_size(given, "length", "length", kMostWords)}};
}

std::vector<Operand> operands(const Params& sizes) {
  const auto items = static_cast<std::size_t>(sizes.at("n"));
  return {{.name = "start", .elements = items, .type = Type::uint32},
          {.name = "sum", .elements = items, .type = Type::uint32, .role = Role::output}};
}

void fill_inputs(const Params& sizes, const DataSet&, std::uint64_t seed, std::span<void* const> host) {
  auto* start = static_cast<std::uint32_t*>(host[0]);
#pragma omp parallel for
  for (std::int64_t i = 0; i < sizes.at("n"); ++i)
    start[i] = static_cast<std::uint32_t>(random_bits(seed, static_cast<std::uint64_t>(i)));
}

Judge reference(const Params& sizes, const DataSet&, std::uint64_t, std::span<const void* const> host) {
  const std::int64_t n = sizes.at("n");
  const int length = static_cast<int>(sizes.at("length"));
  const auto* start = static_cast<const std::uint32_t*>(host[0]);
  std::vector<std::uint32_t> want(static_cast<std::size_t>(n));
#pragma omp parallel for
  for (std::int64_t i = 0; i < n; ++i) {
    std::uint32_t words[kMostWords];
    want[i] = walk_through(static_cast<std::uint32_t*>(words), start[i], length);
  }
  return [n, want = std::move(want)](std::span<const void* const> outputs) {
    return compare_elements("sum", static_cast<const std::uint32_t*>(outputs[1]), n,
                            [&](std::int64_t i) { return Expected{static_cast<double>(want[i])}; });
  };
}

const bool added = add_problem({
    .family = "work_array",
    .type = Type::uint32,
    .title = "An array for each item",
    .metric = {.key = "arrays_per_s",
               .unit = "array/s",
               .amount = [](const Params& p) { return 1e9 * static_cast<double>(p.at("n")); }},
    .data = {kBits},
    .size_names = {"n", "length"},
    .size_what = {{"length", "words of each array"}},
    .test_sizes = {{{"n", 1}, {"length", 1}},
                   {{"n", 31}, {"length", 5}},
                   {{"n", 300}, {"length", 16}},
                   {{"n", 1025}, {"length", 33}}},
    .complete = complete,
    .operands = operands,
    .flops = [](const Params&) { return 0.0; },
    .fill = fill_inputs,
    .reference = reference,
    .redraw = redraw_word,
});

}  // namespace
}  // namespace rung
