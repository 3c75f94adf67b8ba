/// The oracle of the discontinuous function: the same sums in float64, along the same arguments.
#include "common/problem/discontinuous.hpp"

#include <memory>

#include "common/problem/problem.hpp"

namespace rung {
namespace {

constexpr std::int64_t kElementsLimit = std::int64_t{1} << 31;
constexpr std::int64_t kPassesLimit = 1 << 16;
constexpr std::int64_t kWarp = 32;

Params complete(const Params& given) {
  const std::int64_t negative = given.get("negative", 50);
  if (negative < 0 || negative > 100) throw Error("size negative = " + std::to_string(negative) + " is outside 0..100");
  return {{"n", positive_size(given, "n", "n", kElementsLimit)},
          {"passes", given.has("passes") ? positive_size(given, "passes", "passes", kPassesLimit) : 1},
          {"negative", negative}};
}

std::vector<Operand> operands(const Params& sizes) {
  const auto n = static_cast<std::size_t>(sizes.at("n"));
  return {
      {.name = "a", .elements = n}, {.name = "b", .elements = n}, {.name = "c", .elements = n, .role = Role::output}};
}

/// Whether element i is negative.
bool is_negative(std::int64_t i, std::int64_t n, std::int64_t percent, const std::string& data, std::uint64_t bits) {
  if (data == "sorted") return i * 100 < n * percent;
  if (data == "runs") return i / kWarp * percent % 100 < percent;
  if (data == "alternating") return i * percent % 100 < percent;
  return static_cast<std::int64_t>((bits & 0xffffffff) * 100 >> 32) < percent;
}

void fill_inputs(const Params& sizes, const DataSet& data, std::uint64_t seed, std::span<void* const> host) {
  auto *a = static_cast<float*>(host[0]), *b = static_cast<float*>(host[1]);
  const std::int64_t n = sizes.at("n"), percent = sizes.at("negative");
#pragma omp parallel for
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint64_t bits = random_bits(seed, static_cast<std::uint64_t>(i));
    const auto magnitude = static_cast<float>(0x1p-10 + 3.139 * static_cast<double>(bits >> 32) * 0x1p-32);
    a[i] = is_negative(i, n, percent, data.name, bits) ? -magnitude : magnitude;
  }
  fill_float({b, static_cast<std::size_t>(n)}, random_reals(), seed + 1);
}

/// A sine of any library in use, for arguments in its first half period, is within this many units of 2^-24 of its
/// value.
constexpr double kSineUnits = 8;

Expected total_of(float a, float b, std::int64_t passes) {
  double want = 0, magnitude = 0, off = 0;
  for (std::int64_t pass = 0; pass < passes; ++pass) {
    const double sine = a < 0 ? 0 : std::sin(static_cast<double>(a));
    const double one = a < 0 ? 2.0 * a : sine + b;
    want += one;
    magnitude += std::abs(one);
    off += kSineUnits * 0x1p-24 * std::abs(sine) + (a < 0 ? 0 : 0x1p-24 * std::abs(one));
    a *= kDiscontinuousNudge;
  }
  return {want, off * (1 + 0x1p-10) + (passes > 1 ? gamma_fp32(static_cast<double>(passes)) * (magnitude + off) : 0)};
}

Judge reference(const Params& sizes, const DataSet&, std::uint64_t, std::span<const void* const> host) {
  const std::int64_t n = sizes.at("n"), passes = sizes.at("passes");
  const auto *a = static_cast<const float*>(host[0]), *b = static_cast<const float*>(host[1]);
  const std::shared_ptr<double[]> value(new double[n]), bound(new double[n]);  // their pages are shared out, too
#pragma omp parallel for
  for (std::int64_t i = 0; i < n; ++i) {
    const Expected one = total_of(a[i], b[i], passes);
    value[i] = one.value;
    bound[i] = one.bound;
  }
  return [=](std::span<const void* const> outputs) {
    return compare_elements("c", static_cast<const float*>(outputs[2]), n, [&](std::int64_t i) {
      return Expected{value[i], bound[i]};
    });
  };
}

const bool added = add_problem({
    .family = "discontinuous",
    .title = "A function with two branches",
    .metric = {.key = "results_per_s",
               .unit = "result/s",
               .amount = [](const Params& p) { return 1e9 * static_cast<double>(p.at("n") * p.at("passes")); }},
    .data = {{"random", "negative elements anywhere"},
             {"sorted", "all negative elements first"},
             {"runs", "32 neighbours alike, aligned to warps"},
             {"alternating", "negative elements spread evenly"}},
    .size_names = {"n", "passes", "negative"},
    .test_sizes = {{{"n", 1}},
                   {{"n", 33}, {"passes", 3}},
                   {{"n", 1055}, {"negative", 10}},
                   {{"n", 4099}, {"passes", 2}, {"negative", 100}},
                   {{"n", 259}, {"passes", 65}, {"negative", 0}}},
    .complete = complete,
    .brief =
        [](const Params& sizes) {
          Params shown{{"n", sizes.at("n")}};
          if (sizes.at("passes") != 1) shown.set("passes", sizes.at("passes"));
          if (sizes.at("negative") != 50) shown.set("negative", sizes.at("negative"));
          return shown;
        },
    .operands = operands,
    .flops = [](const Params&) { return 0.0; },
    .fill = fill_inputs,
    .reference = reference,
    .redraw = redraw_between(-3, 3),
});

}  // namespace
}  // namespace rung
