/// The oracle of the solver: the same steps in float64.
#include "common/problem/solver.hpp"

#include <memory>

#include "common/problem/problem.hpp"

namespace rung {
namespace {

constexpr std::int64_t kElementsLimit = std::int64_t{1} << 28;
constexpr std::int64_t kStepsLimit = 1 << 16;

const DataSet kUnit{.name = "random", .what = "reals from 0 to 1"};

std::vector<Value> methods() { return words({"euler", "midpoint", "runge_kutta"}); }

Params complete(const Params& given) {
  return {{"method", given.has("method") ? given.value("method") : methods()[0]},
          {"n", positive_size(given, "n", "n", kElementsLimit)},
          {"steps", given.has("steps") ? positive_size(given, "steps", "steps", kStepsLimit) : 1}};
}

SolverMethod method_of(const Params& sizes) { return static_cast<SolverMethod>(sizes.at("method")); }

std::vector<Operand> operands(const Params& sizes) {
  const auto n = static_cast<std::size_t>(sizes.at("n"));
  return {{.name = "u", .elements = n}, {.name = "result", .elements = n, .role = Role::output}};
}

void fill_inputs(const Params& sizes, const DataSet&, std::uint64_t seed, std::span<void* const> host) {
  auto* u = static_cast<float*>(host[0]);
#pragma omp parallel for
  for (std::int64_t i = 0; i < sizes.at("n"); ++i)
    u[i] = static_cast<float>(random_bits(seed, static_cast<std::uint64_t>(i)) >> 40) * 0x1p-24f;
}

double steps_of(const Params& sizes) { return static_cast<double>(sizes.at("steps")); }

/// Elements that are worked out together, in the registers of a core.
constexpr std::int64_t kTogether = 64;

template <typename Step>
void expect(double* values, std::int64_t steps, const Step& step) {
  for (std::int64_t i = 0; i < steps; ++i)
#pragma omp simd
    for (std::int64_t j = 0; j < kTogether; ++j) values[j] = step(values[j]);
}

void expect_some(const Params& sizes, double* values) {
  const std::int64_t steps = sizes.at("steps");
  switch (method_of(sizes)) {
    case SolverMethod::euler:
      return expect(values, steps, [](double u) { return euler_step(u); });
    case SolverMethod::midpoint:
      return expect(values, steps, [](double u) { return midpoint_step(u); });
    case SolverMethod::runge_kutta:
      return expect(values, steps, [](double u) { return runge_kutta_step(u); });
  }
}

Judge reference(const Params& sizes, const DataSet&, std::uint64_t, std::span<const void* const> host) {
  const std::int64_t n = sizes.at("n");
  const auto expected = std::make_shared<std::vector<double>>((n + kTogether - 1) / kTogether * kTogether);
  std::copy_n(static_cast<const float*>(host[0]), n, expected->begin());
#pragma omp parallel for
  for (std::int64_t first = 0; first < n; first += kTogether) expect_some(sizes, expected->data() + first);
  // The last operation rounds by 2^-25 at most; the slope is off by a few units of 2^-24, times the width of a step.
  const double bound = steps_of(sizes) * (0x1p-25 + 16 * kSolverStep * 0x1p-24);
  return [=](std::span<const void* const> outputs) {
    return compare_elements("result", static_cast<const float*>(outputs[1]), n, [&](std::int64_t i) {
      return Expected{(*expected)[static_cast<std::size_t>(i)], bound};
    });
  };
}

double flops(const Params& sizes) {
  const double of_a_step[] = {3, 6, 16};
  return of_a_step[sizes.at("method")] * static_cast<double>(sizes.at("n")) * steps_of(sizes);
}

std::vector<Params> test_sizes() {
  std::vector<Params> all;
  for (const Value& method : methods()) {
    all.push_back({{"method", method}, {"n", 1}, {"steps", 1}});
    all.push_back({{"method", method}, {"n", 1055}, {"steps", 7}});
  }
  all.push_back({{"method", methods()[1]}, {"n", 33}, {"steps", 300}});
  return all;
}

const bool added = add_problem({
    .family = "solver",
    .title = "Initial value problems",
    .data = {kUnit},
    .size_names = {"method", "n", "steps"},
    .size_words = {{"method", methods()}},
    .test_sizes = test_sizes(),
    .complete = complete,
    .operands = operands,
    .flops = flops,
    .fill = fill_inputs,
    .reference = reference,
    .redraw = redraw_between(0, 0.999),
});

}  // namespace
}  // namespace rung
