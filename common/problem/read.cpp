/// The oracle of the read bandwidth: the exact sum of the array, modulo 2^32, times the passes.
#include "common/problem/read.hpp"

#include <cstring>

#include "common/problem/problem.hpp"

namespace rung {
namespace {

constexpr std::int64_t kBytesLimit = std::int64_t{1} << 40;
constexpr std::int64_t kPassesLimit = std::int64_t{1} << 32;

Params complete(const Params& given) {
  const std::int64_t bytes = positive_size(given, "bytes", "bytes", kBytesLimit);
  if (bytes % kReadGranule)
    throw Error("size bytes = " + std::to_string(bytes) + " is not a multiple of " + std::to_string(kReadGranule));
  return {{"bytes", bytes}, {"passes", given.has("passes") ? positive_size(given, "passes", "", kPassesLimit) : 1}};
}

std::vector<Operand> operands(const Params& sizes) {
  return {{.name = "data", .elements = static_cast<std::size_t>(sizes.at("bytes") / 4), .type = Type::uint32},
          {.name = "partials", .elements = kReadPartials, .type = Type::uint32, .role = Role::output}};
}

void fill_inputs(const Params& sizes, const DataSet&, std::uint64_t seed, std::span<void* const> host) {
  auto* data = static_cast<std::uint32_t*>(host[0]);
  const std::int64_t n = sizes.at("bytes") / 4;
#pragma omp parallel for
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint64_t bits = random_bits(seed, static_cast<std::uint64_t>(i));
    data[i] = static_cast<std::uint32_t>(bits >> 32) | 1;  // an element that is skipped changes the sum: none is zero
  }
}

Judge reference(const Params& sizes, const DataSet&, std::uint64_t, std::span<const void* const> host) {
  const auto* data = static_cast<const std::uint32_t*>(host[0]);
  const std::int64_t n = sizes.at("bytes") / 4;
  std::uint32_t once = 0;
#pragma omp parallel for reduction(+ : once)
  for (std::int64_t i = 0; i < n; ++i) once += data[i];
  const std::uint32_t want = once * static_cast<std::uint32_t>(sizes.at("passes"));
  return [want](std::span<const void* const> outputs) {
    const auto* partials = static_cast<const std::uint32_t*>(outputs[1]);
    std::uint32_t got = 0;
    for (int i = 0; i < kReadPartials; ++i) got += partials[i];
    Check check;
    if (got != want)
      check.failure = "the partials' sum is " + std::to_string(got) + ", not " + std::to_string(want) + " modulo 2^32";
    return check;
  };
}

const bool added = add_problem({
    .family = "read",
    .type = Type::uint32,
    .title = "Reading an array",
    .metric = bandwidth(),
    .data = {{.name = "random", .what = "random bits, none zero", .is_exact = true}},
    .size_names = {"bytes", "passes"},
    .test_sizes = {{{"bytes", 256}}, {{"bytes", 65536 + 256}, {"passes", 3}}},
    .complete = complete,
    .operands = operands,
    .flops = [](const Params&) { return 0.0; },
    .bytes_min = read_bytes,
    .fill = fill_inputs,
    .reference = reference,
    .redraw =
        [](const Params&, std::uint64_t bits, void* element) {
          const auto word = static_cast<std::uint32_t>(bits >> 32) | 1;
          std::memcpy(element, &word, sizeof word);
        },
});

}  // namespace
}  // namespace rung
