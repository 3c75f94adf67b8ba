/// The speed of functions: the oracle adds up the float64 results along the same arguments. It checks that kernels
/// evaluate the right function for the right arguments as often as required; "math_error" measures their accuracy.
#include "common/problem/math.hpp"

#include <bit>
#include <memory>

#include "common/problem/problem.hpp"

namespace rung {
namespace {

constexpr std::int64_t kElementsLimit = std::int64_t{1} << 31;
constexpr std::int64_t kPassesLimit = 1 << 20;

Value function_of(const Params& given) {
  if (!given.has("function")) throw Error("size 'function' is not given: exp, sin, pow …");
  return given.value("function");
}

/// 2^value, and its negative for every second `bits`.
double signed_power(double value, std::uint64_t bits) { return (bits & 1 ? -1 : 1) * std::exp2(value); }

/// A pair of arguments of the function, from two uniform numbers in [0, 1) and a few further bits.
std::pair<double, double> arguments(MathFunction f, const std::string& set, double u, double v, std::uint64_t bits) {
  const bool is_random = set == "random", is_large = set == "large";
  const auto between = [](double low, double high, double w) { return low + (high - low) * w; };
  const auto pick = [&](double random, double large, double subnormal) {
    return is_random ? random : is_large ? large : subnormal;
  };
  switch (f) {
    case MathFunction::exp:
      return {pick(between(-10, 10, u), between(-80, 80, u), between(-103, -88, u)), 0};
    case MathFunction::exp2:
      return {pick(between(-10, 10, u), between(-110, 110, u), between(-149, -126.5, u)), 0};
    case MathFunction::log:
    case MathFunction::rsqrt:
      return {std::exp2(pick(between(-10, 10, u), between(-126, 127, u), between(-149, -127, u))), 0};
    case MathFunction::sin:
    case MathFunction::cos:
    case MathFunction::tan: {
      const double period = f == MathFunction::tan ? 1.5 : 3.14159;  // tan: away from its poles
      return {pick(between(-period, period, u), between(-1e7, 1e7, u), signed_power(between(-149, -127, u), bits)), 0};
    }
    case MathFunction::pow:
      return {std::exp2(pick(between(-2, 2, u), between(-8, 8, u), between(-149, -127, u))),
              pick(between(-4, 4, v), between(-12, 12, v), v)};
    case MathFunction::reciprocal:
      return {signed_power(pick(between(-4, 4, u), between(-110, 110, u), between(126.1, 127.9, u)), bits), 0};
    case MathFunction::divide:
      return {signed_power(pick(between(-4, 4, u), between(-55, 55, u), between(-126, -100, u)), bits),
              signed_power(pick(between(-4, 4, v), between(-55, 55, v), between(27, 40, v)), bits >> 1)};
    case MathFunction::none:
      break;
  }
  return {between(-1, 1, u), 0};
}

Params complete(const Params& given) {
  return {{"function", function_of(given)},
          {"n", positive_size(given, "n", "n", kElementsLimit)},
          {"passes", given.has("passes") ? positive_size(given, "passes", "", kPassesLimit) : 1}};
}

std::vector<Operand> operands(const Params& sizes) {
  const auto elements = static_cast<std::size_t>(sizes.at("n"));
  return {{.name = "x", .elements = elements},
          {.name = "y", .elements = elements},
          {.name = "total", .elements = elements, .role = Role::output}};
}

void fill_inputs(const Params& sizes, const DataSet& data, std::uint64_t seed, std::span<void* const> host) {
  auto *x = static_cast<float*>(host[0]), *y = static_cast<float*>(host[1]);
  const MathFunction f = math_function(sizes);
#pragma omp parallel for
  for (std::int64_t i = 0; i < sizes.at("n"); ++i) {
    const std::uint64_t first = random_bits(seed, static_cast<std::uint64_t>(i)), second = random_bits(first, 1);
    const auto [u, v] = arguments(f, data.name, static_cast<double>(first >> 11) * 0x1p-53,
                                  static_cast<double>(second >> 11) * 0x1p-53, second);
    x[i] = static_cast<float>(u);
    y[i] = static_cast<float>(v);
  }
}

/// Whether an approximation has to be near at these arguments. Those of sin, cos and tan may not reduce large ones, and
/// many take a subnormal number for 0.
bool is_held(MathFunction f, const DataSet& data) {
  return data.name == "random" || (data.name == "large" && !is_trigonometric(f));
}

/// Of one evaluation, a coarse approximation's: far more than any that is in use is off, far less than a wrong
/// function, argument or number of passes is.
constexpr double kRelative = 0x1p-10, kAbsolute = 0x1p-18;

template <MathFunction kFunction>
Expected total_of(float x, float y, std::int64_t passes) {
  double want = 0, magnitude = 0;
  for (std::int64_t pass = 0; pass < passes; ++pass) {
    const double one = exact<kFunction>(x, y);
    want += one;
    magnitude += std::abs(one);
    x *= kMathNudge;
    y *= kMathNudge;
  }
  const auto additions = static_cast<double>(passes);
  const double rounding = kFunction == MathFunction::none ? 0 : kRelative * magnitude + kAbsolute * additions;
  return {want, rounding + gamma_fp32(additions) * magnitude};
}

struct AllFunctions {
  static constexpr bool has(MathFunction) { return true; }
};

/// A result where nothing is promised has been written: it is not what was there before.
bool is_written(float result) { return std::bit_cast<std::uint32_t>(result) != 0xFFFFFFFF; }

double ulps_off(float got, double want) {
  if (std::isnan(want) || std::isnan(got)) return 0;
  return std::abs(clipped(got) - clipped(want)) / ulp(clipped(want));
}

double max_ulps(const float* got, const std::vector<Expected>& want) {
  double worst = 0;
#pragma omp parallel for reduction(max : worst)
  for (std::size_t i = 0; i < want.size(); ++i) worst = std::max(worst, ulps_off(got[i], want[i].value));
  return worst;
}

Judge reference(const Params& sizes, const DataSet& data, std::uint64_t, std::span<const void* const> host) {
  const auto n = sizes.at("n"), passes = sizes.at("passes");
  const auto *x = static_cast<const float*>(host[0]), *y = static_cast<const float*>(host[1]);
  const auto want = std::make_shared<std::vector<Expected>>(static_cast<std::size_t>(n));
  with_math_function<AllFunctions>(math_function(sizes), [&](auto f) {
#pragma omp parallel for schedule(static)
    for (std::int64_t i = 0; i < n; ++i) (*want)[static_cast<std::size_t>(i)] = total_of<f>(x[i], y[i], passes);
  });
  const bool held = is_held(math_function(sizes), data);
  return [=](std::span<const void* const> outputs) {
    const auto* total = static_cast<const float*>(outputs[2]);
    Check check = compare_elements("total", total, n, [=, &want = *want](std::int64_t i) {
      if (held) return want[static_cast<std::size_t>(i)];
      return Expected{is_written(total[i]) ? static_cast<double>(total[i]) : 0};
    });
    if (passes == 1) check.judged["max_ulp"] = max_ulps(total, *want);
    return check;
  };
}

std::vector<Params> test_sizes() {
  std::vector<Params> all;
  for (const Value& word : math_function_words()) all.push_back({{"function", word}, {"n", 259}, {"passes", 1}});
  all.push_back({{"function", math_function_words()[0]}, {"n", 1}, {"passes", 3}});
  all.push_back({{"function", math_function_words()[9]}, {"n", 2049}, {"passes", 5}});
  return all;
}

const bool added = add_problem({
    .family = "math",
    .title = "Mathematical functions",
    .metric = {.key = "results_per_s",
               .unit = "result/s",
               .amount = [](const Params& p) { return 1e9 * static_cast<double>(p.at("n") * p.at("passes")); }},
    .data = {{"random", "arguments of everyday size"},
             {"large", "arguments up to 10^7 of sin, cos and tan, over the whole range of the others"},
             {"subnormal", "arguments or results that are subnormal"}},
    .size_names = {"function", "n", "passes"},
    .size_words = {{"function", math_function_words()}},
    .test_sizes = test_sizes(),
    .complete = complete,
    .operands = operands,
    .flops = [](const Params&) { return 0.0; },
    .fill = fill_inputs,
    .reference = reference,
    .redraw =
        [](const Params& sizes, std::uint64_t bits, void* element) {
          const double u = static_cast<double>(bits >> 11) * 0x1p-53;
          const auto number = static_cast<float>(arguments(math_function(sizes), "random", u, u, bits).first);
          std::memcpy(element, &number, sizeof number);
        },
});

}  // namespace
}  // namespace rung
