/// "neighbours": each element is multiplied by the number of its left neighbour: a course's example of what goes wrong
/// when a thread does not wait for another one.
///
/// Sizes     n: elements, up to 1024.
/// Operand 0 `in`, input: n int32 from -1000 to 1000. Operand 1 `array`, output: n + 1 int32.
/// Formula   array[0] = in[0]^2, as no thread stores a number in it; array[i] = in[i] (i - 1) for 0 < i < n;
///           array[n] = n - 1, the number of its left neighbour. No floating-point operations.
///
/// The oracle: whole numbers below 2^31.
#include <cstring>

#include "common/problem/problem.hpp"

namespace rung {
namespace {

constexpr std::int64_t kElementsLimit = 1024;

Params complete(const Params& given) { return {{"n", positive_size(given, "n", "n", kElementsLimit)}}; }

std::vector<Operand> operands(const Params& sizes) {
  const auto n = static_cast<std::size_t>(sizes.at("n"));
  return {{.name = "in", .elements = n, .type = Type::int32},
          {.name = "array", .elements = n + 1, .type = Type::int32, .role = Role::output}};
}

std::int32_t drawn_number(std::uint64_t bits) { return static_cast<std::int32_t>(bits % 2001) - 1000; }

void fill_inputs(const Params& sizes, const DataSet&, std::uint64_t seed, std::span<void* const> host) {
  auto* in = static_cast<std::int32_t*>(host[0]);
  for (std::int64_t i = 0; i < sizes.at("n"); ++i)
    in[i] = drawn_number(random_bits(seed, static_cast<std::uint64_t>(i)));
}

Judge reference(const Params& sizes, const DataSet&, std::uint64_t, std::span<const void* const>) {
  return [n = sizes.at("n")](std::span<const void* const> host) {
    const auto* in = static_cast<const std::int32_t*>(host[0]);
    return compare_elements("array", static_cast<const std::int32_t*>(host[1]), n + 1, [=](std::int64_t i) {
      if (i == n) return Expected{static_cast<double>(n - 1)};
      return Expected{static_cast<double>(in[i]) * (i == 0 ? in[0] : static_cast<double>(i - 1))};
    });
  };
}

const bool added = add_problem({
    .family = "neighbours",
    .type = Type::int32,
    .title = "Multiplying by the left neighbour's number",
    .metric = bandwidth(),
    .data = {{.name = "integers", .what = "whole numbers from -1000 to 1000", .is_exact = true},
             {.name = "random", .what = "whole numbers from -1000 to 1000"}},
    .size_names = {"n"},
    .test_sizes = {{{"n", 1}}, {{"n", 33}}, {{"n", 256}}, {{"n", 1024}}},
    .complete = complete,
    .operands = operands,
    .flops = [](const Params&) { return 0.0; },
    .fill = fill_inputs,
    .reference = reference,
    .redraw =
        [](const Params&, std::uint64_t bits, void* element) {
          const std::int32_t number = drawn_number(bits);
          std::memcpy(element, &number, sizeof number);
        },
});

}  // namespace
}  // namespace rung
