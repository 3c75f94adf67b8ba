/// The oracle of the lookups: the same walks through the table.
#include "common/problem/lookup.hpp"

#include <bit>
#include <cstring>
#include <memory>
#include <numeric>

#include "common/problem/problem.hpp"

namespace rung {
namespace {

constexpr std::int64_t kThreadsLimit = std::int64_t{1} << 28;
constexpr std::int64_t kRoundsLimit = 1 << 20;
constexpr std::int64_t kWarp = 32;

const DataSet kTable{.name = "table", .what = "a random cycle through the rows", .is_exact = true};

std::int64_t power_of_two(const Params& given, const char* name, std::int64_t otherwise, std::int64_t limit) {
  const std::int64_t value = given.has(name) ? positive_size(given, name, name, limit) : otherwise;
  if (!std::has_single_bit(static_cast<std::uint64_t>(value)))
    throw Error("size " + std::string(name) + " = " + std::to_string(value) + " is no power of two");
  return value;
}

Params complete(const Params& given) {
  const std::int64_t n = positive_size(given, "n", "n", kThreadsLimit);
  return {{"n", n},
          {"rounds", given.has("rounds") ? positive_size(given, "rounds", "rounds", kRoundsLimit) : 1},
          {"rows", power_of_two(given, "rows", 16, kLookupRows)},
          {"distinct", power_of_two(given, "distinct", 1, kLookupColumns)},
          {"chain", given.has("chain") ? given.value("chain") : words({"dependent", "independent"})[0]}};
}

std::vector<Operand> operands(const Params& sizes) {
  return {
      {.name = "table", .elements = static_cast<std::size_t>(sizes.at("rows")) * kLookupColumns, .type = Type::uint32},
      {.name = "sums",
       .elements = static_cast<std::size_t>(sizes.at("n")),
       .type = Type::uint32,
       .role = Role::output}};
}

void fill_inputs(const Params& sizes, const DataSet&, std::uint64_t seed, std::span<void* const> host) {
  const std::int64_t rows = sizes.at("rows");
  auto* table = static_cast<std::uint32_t*>(host[0]);
  std::vector<std::uint32_t> order(static_cast<std::size_t>(rows));  // in which the rows are passed
  std::iota(order.begin(), order.end(), 0u);
  for (std::int64_t i = rows - 1; i > 0; --i)
    std::swap(order[i], order[random_bits(seed, i) % static_cast<std::uint64_t>(i + 1)]);
  const auto mask = static_cast<std::uint32_t>(rows - 1);
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t column = 0; column < kLookupColumns; ++column) {
      const std::int64_t at = order[i] * kLookupColumns + column;
      const auto bits = static_cast<std::uint32_t>(random_bits(seed + 1, at));
      table[at] = (bits & ~mask) | order[(i + 1) % rows];
    }
}

/// Sums for each column and each row in which a walk begins.
std::vector<std::uint32_t> all_sums(const Params& sizes, const std::uint32_t* table) {
  const std::int64_t rows = sizes.at("rows"), rounds = sizes.at("rounds");
  const bool is_dependent = sizes.at("chain") == static_cast<std::int64_t>(LookupChain::dependent);
  std::vector<std::uint32_t> sums(static_cast<std::size_t>(rows) * kLookupColumns);
#pragma omp parallel for
  for (std::int64_t start = 0; start < rows; ++start) {
    std::int64_t row = start;
    for (std::int64_t round = 0; round < rounds; ++round) {
      const std::uint32_t* words = table + row * kLookupColumns;
      for (std::int64_t column = 0; column < kLookupColumns; ++column)
        sums[start * kLookupColumns + column] += words[column];
      row = (is_dependent ? words[0] : row + 1) % rows;
    }
  }
  return sums;
}

Judge reference(const Params& sizes, const DataSet&, std::uint64_t, std::span<const void* const> host) {
  const auto sums =
      std::make_shared<std::vector<std::uint32_t>>(all_sums(sizes, static_cast<const std::uint32_t*>(host[0])));
  return [=, n = sizes.at("n"), rows = sizes.at("rows"),
          distinct = sizes.at("distinct")](std::span<const void* const> outputs) {
    return compare_elements("sums", static_cast<const std::uint32_t*>(outputs[1]), n, [&](std::int64_t i) {
      return Expected{static_cast<double>((*sums)[i / kWarp % rows * kLookupColumns + i % distinct])};
    });
  };
}

const bool added = add_problem({
    .family = "lookup",
    .type = Type::uint32,
    .title = "Reads of a small table",
    .metric = {.key = "reads_per_s",
               .unit = "read/s",
               .amount = [](const Params& p) { return 1e9 * static_cast<double>(p.at("n") * p.at("rounds")); }},
    .data = {kTable},
    .size_names = {"n", "rounds", "rows", "distinct", "chain"},
    .size_words = {{"chain", words({"dependent", "independent"})}},
    .test_sizes = {{{"n", 1}},
                   {{"n", 33}, {"rounds", 3}, {"rows", 1}, {"distinct", 32}},
                   {{"n", 1055}, {"rounds", 19}, {"distinct", 4}},
                   {{"n", 1055}, {"rounds", 21}, {"distinct", 2}, {"chain", words({"dependent", "independent"})[1]}},
                   {{"n", 259}, {"rounds", 5}, {"rows", 256}, {"distinct", 16}},
                   {{"n", 32}, {"rounds", 65}, {"rows", 64}, {"chain", words({"dependent", "independent"})[1]}}},
    .complete = complete,
    .operands = operands,
    .flops = [](const Params&) { return 0.0; },
    .fill = fill_inputs,
    .reference = reference,
    .redraw =
        [](const Params& sizes, std::uint64_t bits, void* element) {
          const auto mask = static_cast<std::uint32_t>(sizes.at("rows") - 1);
          std::uint32_t word;
          std::memcpy(&word, element, sizeof word);
          word = (word & mask) | (static_cast<std::uint32_t>(bits >> 32) & ~mask);
          std::memcpy(element, &word, sizeof word);
        },  // the low bits, which name the next row, stay
});

}  // namespace
}  // namespace rung
