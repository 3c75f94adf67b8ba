/// The oracle of the copy bandwidth: every element of the copy has the bits of the original.
#include "common/problem/copy.hpp"

#include <algorithm>
#include <cstring>

#include "common/problem/problem.hpp"

namespace rung {
namespace {

constexpr std::int64_t kBytesLimit = std::int64_t{1} << 40;
constexpr std::int64_t kPassesLimit = std::int64_t{1} << 32;

Params complete(const Params& given) {
  const std::int64_t bytes = positive_size(given, "bytes", "bytes", kBytesLimit);
  if (bytes % kCopyGranule)
    throw Error("size bytes = " + std::to_string(bytes) + " is not a multiple of " + std::to_string(kCopyGranule));
  return {{"bytes", bytes}, {"passes", given.has("passes") ? positive_size(given, "passes", "", kPassesLimit) : 1}};
}

/// One pass is what goes without saying.
Params brief(const Params& sizes) { return sizes.at("passes") == 1 ? Params{{"bytes", sizes.at("bytes")}} : sizes; }

std::vector<Operand> operands(const Params& sizes) {
  const auto elements = static_cast<std::size_t>(sizes.at("bytes") / 4);
  return {{.name = "from", .elements = elements}, {.name = "to", .elements = elements, .is_output = true}};
}

void fill_inputs(const Params& sizes, Fill fill, std::uint64_t seed, std::span<void* const> host) {
  fill_float({static_cast<float*>(host[0]), operands(sizes)[0].elements}, fill, seed);
}

/// Nothing to work out: the copy is compared with the original that the judge is handed.
Judge reference(const Params& sizes, Fill, std::uint64_t, std::span<const void* const>) {
  const auto n = static_cast<std::int64_t>(operands(sizes)[0].elements);
  return [n](std::span<const void* const> host) {
    const auto* from = static_cast<const std::uint32_t*>(host[0]);
    const auto* to = static_cast<const std::uint32_t*>(host[1]);
    std::int64_t first = n;
#pragma omp parallel for reduction(min : first)
    for (std::int64_t i = 0; i < n; ++i)
      if (from[i] != to[i]) first = std::min(first, i);
    Check check;
    if (first < n) {
      float got = 0, want = 0;
      std::memcpy(&got, to + first, sizeof got);
      std::memcpy(&want, from + first, sizeof want);
      check.failure = "to[" + std::to_string(first) + "] is " + std::to_string(got) + ", not " + std::to_string(want);
    }
    return check;
  };
}

const bool added = add_problem({
    .name = "copy",
    .size_names = {"bytes", "passes"},
    .complete = complete,
    .brief = brief,
    .unusual = [](const Params& sizes) { return sizes.get("passes", 1) == 1 ? "" : "passes"; },
    .operands = operands,
    .flops = [](const Params&) { return 0.0; },
    .bytes_min = copy_bytes,
    .fill = fill_inputs,
    .reference = reference,
});

}  // namespace
}  // namespace rung
