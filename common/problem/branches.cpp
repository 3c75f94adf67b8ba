/// The oracle of the branches: the same paths in float64.
#include "common/problem/branches.hpp"

#include <algorithm>
#include <bit>
#include <memory>

#include "common/problem/problem.hpp"

namespace rung {
namespace {

constexpr std::int64_t kElementsLimit = std::int64_t{1} << 28;
constexpr std::int64_t kRoundsLimit = 1 << 16;
constexpr std::int64_t kGroupLimit = 1 << 20;
constexpr std::int64_t kGroups = 32;  // in which the pattern repeats

const DataSet kUnit{.name = "random", .what = "reals from 0 to 1"};

Params complete(const Params& given) {
  const auto optional = [&](const char* name, std::int64_t otherwise, std::int64_t limit) {
    return given.has(name) ? positive_size(given, name, name, limit) : otherwise;
  };
  const std::int64_t body = optional("body", 64, 256), taken = given.get("taken", kGroups / 2);
  if (!std::has_single_bit(static_cast<std::uint64_t>(body)))
    throw Error("size body = " + std::to_string(body) + " is no power of two");
  if (taken < 0 || taken > kGroups) throw Error("size taken = " + std::to_string(taken) + " is outside 0..32");
  return {{"n", positive_size(given, "n", "n", kElementsLimit)},
          {"rounds", optional("rounds", 1, kRoundsLimit)},
          {"body", body},
          {"group", optional("group", 1, kGroupLimit)},
          {"taken", taken}};
}

std::vector<Operand> operands(const Params& sizes) {
  const auto n = static_cast<std::size_t>(sizes.at("n"));
  return {{.name = "x", .elements = n}, {.name = "y", .elements = n, .role = Role::output}};
}

void fill_inputs(const Params& sizes, const DataSet&, std::uint64_t seed, std::span<void* const> host) {
  auto* x = static_cast<float*>(host[0]);
#pragma omp parallel for
  for (std::int64_t i = 0; i < sizes.at("n"); ++i)
    x[i] = static_cast<float>(random_bits(seed, static_cast<std::uint64_t>(i)) >> 40) * 0x1p-24f;
}

double steps(const Params& sizes) { return static_cast<double>(sizes.at("rounds") * sizes.at("body")); }

/// Elements that are worked out together, in the registers of a core.
constexpr std::int64_t kTogether = 64;

void expect_some(const Params& sizes, std::int64_t first, double* values) {
  const std::int64_t rounds = sizes.at("rounds"), body = sizes.at("body"), group = sizes.at("group");
  const std::int64_t taken = sizes.at("taken");
  double factor[kTogether], term[kTogether];
  unsigned groups[kTogether];  // a division takes longer than a step
  for (std::int64_t j = 0; j < kTogether; ++j) groups[j] = static_cast<unsigned>((first + j) / group);
  for (std::int64_t round = 0; round < rounds; ++round) {
#pragma omp simd
    for (std::int64_t j = 0; j < kTogether; ++j) {
      const unsigned turn = groups[j] + static_cast<unsigned>(round);  // modulo 2^32
      const bool is_first = turn * static_cast<unsigned>(taken) % unsigned{kGroups} < static_cast<unsigned>(taken);
      factor[j] = is_first ? kFirstFactor : kSecondFactor;
      term[j] = is_first ? kFirstTerm : kSecondTerm;
    }
    for (std::int64_t step = 0; step < body; ++step)
#pragma omp simd
      for (std::int64_t j = 0; j < kTogether; ++j) values[j] = values[j] * factor[j] + term[j];
  }
}

Judge reference(const Params& sizes, const DataSet&, std::uint64_t, std::span<const void* const> host) {
  const std::int64_t n = sizes.at("n");
  const auto* x = static_cast<const float*>(host[0]);
  const auto expected = std::make_shared<std::vector<double>>((n + kTogether - 1) / kTogether * kTogether);
  std::copy_n(x, n, expected->begin());
#pragma omp parallel for
  for (std::int64_t first = 0; first < n; first += kTogether) expect_some(sizes, first, expected->data() + first);
  const double bound = steps(sizes) * 0x1p-25;
  return [=](std::span<const void* const> outputs) {
    return compare_elements("y", static_cast<const float*>(outputs[1]), n, [&](std::int64_t i) {
      return Expected{(*expected)[static_cast<std::size_t>(i)], bound};
    });
  };
}

const bool added = add_problem({
    .family = "branches",
    .title = "Steps on one of two ways",
    .data = {kUnit},
    .size_names = {"n", "rounds", "body", "group", "taken"},
    .size_what = {{"group", "threads in a row that go one way"}},
    .test_sizes = {{{"n", 1}, {"rounds", 3}, {"body", 1}},
                   {{"n", 33}, {"rounds", 5}, {"body", 2}, {"taken", 1}},
                   {{"n", 1055}, {"rounds", 7}, {"body", 16}, {"group", 32}, {"taken", 8}},
                   {{"n", 1024}, {"rounds", 2}, {"body", 64}, {"group", 256}},
                   {{"n", 1055}, {"rounds", 33}, {"body", 4}, {"group", 3}, {"taken", 21}},
                   {{"n", 259}, {"rounds", 2}, {"body", 256}, {"taken", 0}},
                   {{"n", 259}, {"rounds", 2}, {"body", 8}, {"taken", 32}}},
    .complete = complete,
    .operands = operands,
    .flops = [](const Params& p) { return 2.0 * static_cast<double>(p.at("n")) * steps(p); },
    .fill = fill_inputs,
    .reference = reference,
    .redraw = redraw_between(0, 0.999),
});

}  // namespace
}  // namespace rung
