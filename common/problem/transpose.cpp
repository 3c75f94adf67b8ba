/// The oracle of the transpose: every element of B has the bits of its element of A.
#include "common/problem/transpose.hpp"

#include <algorithm>
#include <memory>

#include "common/problem/problem.hpp"

namespace rung {
namespace {

constexpr std::int64_t kSideLimit = std::int64_t{1} << 18;

Params complete(const Params& given) {
  return {{"m", positive_size(given, "m", "n", kSideLimit)}, {"n", positive_size(given, "n", "n", kSideLimit)}};
}

std::vector<Operand> operands(const Params& sizes) {
  const auto elements = static_cast<std::size_t>(transpose_elements(sizes));
  return {{.name = "a", .elements = elements}, {.name = "b", .elements = elements, .role = Role::output}};
}

void fill_inputs(const Params& sizes, const DataSet& data, std::uint64_t seed, std::span<void* const> host) {
  fill_float({static_cast<float*>(host[0]), operands(sizes)[0].elements}, data, seed);
}

/// The transpose, by blocks of whole lines of both matrices: element by element along one of them would take minutes.
std::vector<std::uint32_t> transposed(const std::uint32_t* a, std::int64_t rows, std::int64_t cols) {
  constexpr std::int64_t kBlock = 16;
  std::vector<std::uint32_t> b(static_cast<std::size_t>(rows * cols));
#pragma omp parallel for collapse(2)
  for (std::int64_t top = 0; top < rows; top += kBlock)
    for (std::int64_t left = 0; left < cols; left += kBlock)
      for (std::int64_t col = left; col < std::min(left + kBlock, cols); ++col)
        for (std::int64_t row = top; row < std::min(top + kBlock, rows); ++row)
          b[col * rows + row] = a[row * cols + col];
  return b;
}

Judge reference(const Params& sizes, const DataSet&, std::uint64_t, std::span<const void* const> host) {
  const auto want = std::make_shared<std::vector<std::uint32_t>>(
      transposed(static_cast<const std::uint32_t*>(host[0]), sizes.at("m"), sizes.at("n")));
  return [want](std::span<const void* const> outputs) {
    return compare_elements("bits of b", static_cast<const std::uint32_t*>(outputs[1]),
                            static_cast<std::int64_t>(want->size()),
                            [&](std::int64_t i) { return Expected{static_cast<double>((*want)[i])}; });
  };
}

const bool added = add_problem({
    .family = "transpose",
    .title = "Matrix transpose",
    .metric = bandwidth(),
    .data = {random_reals()},
    .size_names = {"m", "n"},
    .test_sizes = {{{"m", 1}, {"n", 1}},
                   {{"m", 1}, {"n", 67}},
                   {{"m", 65}, {"n", 1}},
                   {{"m", 32}, {"n", 64}},
                   {{"m", 37}, {"n", 53}},
                   {{"m", 132}, {"n", 68}},
                   {{"m", 36}, {"n", 131}},
                   {{"m", 70}, {"n", 299}}},
    .complete = complete,
    .brief =
        [](const Params& p) {
          return p.at("m") == p.at("n") ? Params{{"n", p.at("n")}} : p;
        },
    .operands = operands,
    .flops = [](const Params&) { return 0.0; },
    .fill = fill_inputs,
    .reference = reference,
});

}  // namespace
}  // namespace rung
