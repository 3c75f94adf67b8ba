/// "pipeline": an array that begins and ends on the host, with some arithmetic per element in between: how far copies
/// and arithmetic overlap, and how much arithmetic makes the copies to a GPU and back worth while.
///
/// Sizes     n: elements, up to 2^32; steps: multiply-adds per element, a multiple of 16 up to 2^20.
/// Operand 0 `x`, input: n elements of float32, on the host.
/// Operand 1 `coefficients`, input: a0, b0, a1, b1 in float32, where the kernel runs.
/// Operand 2 `y`, output: n elements of float32, on the host.
/// Formula   the two steps of the problem "fma" in turn, `steps` in all, then y[i] = x:
///               x = x a0 + b0;   x = x a1 + b1.
/// Useful operations: 2 n steps. Compulsory bytes: 8 n, which also have to cross the link of a GPU.
#include "common/problem/fma.hpp"

namespace rung {
namespace {

constexpr std::int64_t kElementsLimit = std::int64_t{1} << 32;
constexpr std::int64_t kStepsLimit = std::int64_t{1} << 20;

Params complete(const Params& given) {
  const std::int64_t steps = positive_size(given, "steps", "steps", kStepsLimit);
  if (steps % kFmaGranule)
    throw Error("size steps = " + std::to_string(steps) + " is not a multiple of " + std::to_string(kFmaGranule));
  return {{"n", positive_size(given, "n", "n", kElementsLimit)}, {"steps", steps}};
}

std::vector<Operand> operands(const Params& sizes) {
  const auto elements = static_cast<std::size_t>(sizes.at("n"));
  return {{.name = "x", .elements = elements, .place = Place::pageable},
          {.name = "coefficients", .elements = 4},
          {.name = "y", .elements = elements, .role = Role::output, .place = Place::pageable}};
}

void fill_inputs(const Params& sizes, const DataSet& data, std::uint64_t seed, std::span<void* const> host) {
  fill_float({static_cast<float*>(host[0]), operands(sizes)[0].elements}, data, seed);
  fill_coefficients(data, static_cast<float*>(host[1]));
}

Judge reference(const Params& sizes, const DataSet& data, std::uint64_t, std::span<const void* const> host) {
  const IteratedSteps steps(static_cast<const float*>(host[1]), sizes.at("steps"), data.is_exact);
  return [steps, n = sizes.at("n")](std::span<const void* const> all) {
    const auto* x = static_cast<const float*>(all[0]);
    return compare_elements("y", static_cast<const float*>(all[2]), n, [=](std::int64_t i) { return steps.of(x[i]); });
  };
}

const bool added = add_problem({
    .family = "pipeline",
    .title = "An array's way to the GPU and back",
    .metric = bandwidth(),
    .size_names = {"n", "steps"},
    .test_sizes = {{{"n", 1}, {"steps", 16}},
                   {{"n", 257}, {"steps", 48}},
                   {{"n", 4099}, {"steps", 16}},
                   {{"n", 100003}, {"steps", 32}}},
    .complete = complete,
    .operands = operands,
    .flops = [](const Params& p) { return 2.0 * static_cast<double>(p.at("n") * p.at("steps")); },
    .bytes_min = [](const Params& p) { return 8.0 * static_cast<double>(p.at("n")); },
    .fill = fill_inputs,
    .reference = reference,
});

}  // namespace
}  // namespace rung
