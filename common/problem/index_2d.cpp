/// "index_2d": 1 is added to each element of a matrix, so that nothing is computed worth the name and the order in
/// which threads are laid over the matrix decides.
///
/// Sizes     n: columns; m: rows, n if not given.
/// Operand 0 `a`, input: m x n float32 by rows. Operand 1 `b`, output: likewise.
/// Formula   b[i][j] = a[i][j] + 1. Useful operations: m n. Compulsory bytes: 8 m n.
///
/// The oracle: one addition of two float32 is rounded once, in the same way everywhere.
#include "common/problem/problem.hpp"

namespace rung {
namespace {

constexpr std::int64_t kSideLimit = std::int64_t{1} << 30, kElementsLimit = std::int64_t{1} << 34;

Params complete(const Params& given) {
  const Params sizes{{"m", positive_size(given, "m", "n", kSideLimit)},
                     {"n", positive_size(given, "n", "n", kSideLimit)}};
  if (sizes.at("m") > kElementsLimit / sizes.at("n")) throw Error("m x n is more than 2^34 elements");
  return sizes;
}

std::vector<Operand> operands(const Params& sizes) {
  const auto elements = static_cast<std::size_t>(sizes.at("m") * sizes.at("n"));
  return {{.name = "a", .elements = elements}, {.name = "b", .elements = elements, .role = Role::output}};
}

void fill_inputs(const Params& sizes, const DataSet& data, std::uint64_t seed, std::span<void* const> host) {
  fill_float({static_cast<float*>(host[0]), operands(sizes)[0].elements}, data, seed);
}

Judge reference(const Params& sizes, const DataSet&, std::uint64_t, std::span<const void* const>) {
  return [elements = sizes.at("m") * sizes.at("n")](std::span<const void* const> host) {
    const auto* a = static_cast<const float*>(host[0]);
    return compare_elements("b", static_cast<const float*>(host[1]), elements, [=](std::int64_t i) {
      return Expected{static_cast<float>(static_cast<double>(a[i]) + 1)};
    });
  };
}

const bool added = add_problem({
    .family = "index_2d",
    .title = "Adding 1 to a matrix",
    .metric = bandwidth(),
    .data = {random_reals()},
    .size_names = {"m", "n"},
    .test_sizes = {{{"m", 1}, {"n", 1}}, {{"m", 33}, {"n", 16}}, {{"m", 3}, {"n", 301}}, {{"m", 259}, {"n", 37}}},
    .complete = complete,
    .brief =
        [](const Params& p) {
          return p.at("m") == p.at("n") ? Params{{"n", p.at("n")}} : p;
        },
    .operands = operands,
    .flops = [](const Params& p) { return static_cast<double>(p.at("m") * p.at("n")); },
    .fill = fill_inputs,
    .reference = reference,
});

}  // namespace
}  // namespace rung
