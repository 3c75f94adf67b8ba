/// "vector_addition": c = a + b, the first program of every GPU course. One operation for 12 bytes, so memory sets the
/// pace.
///
/// Sizes     n: elements, up to 2^34: what has more than 2^31 needs 64-bit indices.
/// Operand 0 `a`, input; operand 1 `b`, input: n elements of float32.
/// Operand 2 `c`, output: likewise.
/// Formula   c[i] = a[i] + b[i]. Useful operations: n. Compulsory bytes: 12 n, two reads to one write as in STREAM's
///           triad.
///
/// The oracle: one addition of two float32 is rounded once, in the same way everywhere, so every kernel gives the same
/// bits.
#include "common/problem/problem.hpp"

namespace rung {
namespace {

constexpr std::int64_t kElementsLimit = std::int64_t{1} << 34;

Params complete(const Params& given) { return {{"n", positive_size(given, "n", "n", kElementsLimit)}}; }

std::vector<Operand> operands(const Params& sizes) {
  const auto elements = static_cast<std::size_t>(sizes.at("n"));
  return {{.name = "a", .elements = elements},
          {.name = "b", .elements = elements},
          {.name = "c", .elements = elements, .role = Role::output}};
}

void fill_inputs(const Params& sizes, const DataSet& data, std::uint64_t seed, std::span<void* const> host) {
  const std::size_t elements = operands(sizes)[0].elements;
  fill_float({static_cast<float*>(host[0]), elements}, data, seed);
  fill_float({static_cast<float*>(host[1]), elements}, data, seed + 1);
}

/// Nothing to work out before: a float64 sum of two float32, rounded to float32, is their float32 sum.
Judge reference(const Params& sizes, const DataSet&, std::uint64_t, std::span<const void* const>) {
  return [n = sizes.at("n")](std::span<const void* const> host) {
    const auto *a = static_cast<const float*>(host[0]), *b = static_cast<const float*>(host[1]);
    return compare_elements("c", static_cast<const float*>(host[2]), n, [=](std::int64_t i) {
      return Expected{static_cast<float>(static_cast<double>(a[i]) + static_cast<double>(b[i]))};
    });
  };
}

const bool added = add_problem({
    .family = "vector_addition",
    .title = "Vector addition",
    .metric = bandwidth(),
    .size_names = {"n"},
    .test_sizes = {{{"n", 1}}, {{"n", 3}}, {{"n", 255}}, {{"n", 1024}}, {{"n", 4099}}, {{"n", 10001}}},
    .complete = complete,
    .operands = operands,
    .flops = [](const Params& p) { return static_cast<double>(p.at("n")); },
    .fill = fill_inputs,
    .reference = reference,
});

}  // namespace
}  // namespace rung
