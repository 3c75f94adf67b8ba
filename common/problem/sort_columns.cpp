/// "sort_columns": each column of a matrix with few rows is sorted. A thread that takes a column needs an array of its
/// own, and where the compiler puts that array decides the rate.
///
/// Sizes     n: columns, up to 2^28. keys: rows, 8, 16 or 32.
/// Operand 0 `keys`, input: keys x n elements of float32 in row-major order, so that neighbouring columns are
///           neighbours in memory.
/// Operand 1 `sorted`, output: likewise.
/// Formula   Column by column, the input's elements in ascending order.
/// Useful operations: none that are counted as floating-point ones. Compulsory bytes: each key read once, written once.
#include "common/problem/sort_columns.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "common/problem/problem.hpp"

namespace rung {
namespace {

constexpr std::int64_t kColumnsLimit = std::int64_t{1} << 28;

std::int64_t elements(const Params& sizes) { return sizes.at("n") * sizes.at("keys"); }

Params complete(const Params& given) {
  const std::int64_t keys = given.get("keys", 32);
  bool is_known = false;
  for (const Value& value : ColumnKeys::values()) is_known |= value.number == keys;
  if (!is_known) throw Error("size keys = " + std::to_string(keys) + " is not one of 8, 16, 32");
  return {{"keys", keys}, {"n", positive_size(given, "n", "n", kColumnsLimit)}};
}

std::vector<Operand> operands(const Params& sizes) {
  const auto count = static_cast<std::size_t>(elements(sizes));
  return {{.name = "keys", .elements = count}, {.name = "sorted", .elements = count, .role = Role::output}};
}

void fill_inputs(const Params& sizes, const DataSet& data, std::uint64_t seed, std::span<void* const> host) {
  fill_float({static_cast<float*>(host[0]), static_cast<std::size_t>(elements(sizes))}, data, seed);
}

Judge reference(const Params& sizes, const DataSet&, std::uint64_t, std::span<const void* const> host) {
  const std::int64_t n = sizes.at("n"), keys = sizes.at("keys");
  const auto* given = static_cast<const float*>(host[0]);
  auto sorted = std::make_shared<std::vector<float>>(static_cast<std::size_t>(n * keys));
#pragma omp parallel for
  for (std::int64_t column = 0; column < n; ++column) {
    std::array<float, 32> some;
    for (std::int64_t row = 0; row < keys; ++row) some[row] = given[row * n + column];
    std::sort(some.begin(), some.begin() + keys);
    for (std::int64_t row = 0; row < keys; ++row) (*sorted)[row * n + column] = some[row];
  }
  return [n, keys, sorted](std::span<const void* const> outputs) {
    return compare_elements("sorted", static_cast<const float*>(outputs[1]), n * keys,
                            [&](std::int64_t i) { return Expected{(*sorted)[static_cast<std::size_t>(i)]}; });
  };
}

const bool added = add_problem({
    .family = "sort_columns",
    .title = "Sorting short columns",
    .metric = {.key = "gkeys_per_s",
               .unit = "GKey/s",
               .amount = [](const Params& p) { return static_cast<double>(elements(p)); }},
    .size_names = {"n", "keys"},
    .size_what = {{"keys", "keys of a column"}},
    .test_sizes = {{{"n", 1}, {"keys", 8}},
                   {{"n", 3}, {"keys", 32}},
                   {{"n", 127}, {"keys", 16}},
                   {{"n", 257}, {"keys", 32}},
                   {{"n", 1024}, {"keys", 8}},
                   {{"n", 4099}, {"keys", 16}}},
    .complete = complete,
    .operands = operands,
    .flops = [](const Params&) { return 0.0; },
    .fill = fill_inputs,
    .reference = reference,
});

}  // namespace
}  // namespace rung
