/// The oracle of the copy bandwidth: every element of the copy has the bits of the original.
#include "common/problem/copy.hpp"

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

/// Omits passes = 1, the default.
Params brief(const Params& sizes) { return sizes.at("passes") == 1 ? Params{{"bytes", sizes.at("bytes")}} : sizes; }

std::vector<Operand> operands(const Params& sizes) {
  const auto elements = static_cast<std::size_t>(sizes.at("bytes") / 4);
  return {{.name = "from", .elements = elements}, {.name = "to", .elements = elements, .role = Role::output}};
}

void fill_inputs(const Params& sizes, const DataSet& data, std::uint64_t seed, std::span<void* const> host) {
  fill_float({static_cast<float*>(host[0]), operands(sizes)[0].elements}, data, seed);
}

/// Nothing to work out: the copy is compared with the original that the judge is handed, bit by bit.
Judge reference(const Params& sizes, const DataSet&, std::uint64_t, std::span<const void* const>) {
  const auto n = static_cast<std::int64_t>(operands(sizes)[0].elements);
  return [n](std::span<const void* const> host) {
    const auto* from = static_cast<const std::uint32_t*>(host[0]);
    return compare_elements("bits of to", static_cast<const std::uint32_t*>(host[1]), n,
                            [=](std::int64_t i) { return Expected{static_cast<double>(from[i])}; });
  };
}

const bool added = add_problem({
    .family = "copy",
    .title = "Copying an array",
    .metric = bandwidth(),
    .data = {random_reals()},
    .size_names = {"bytes", "passes"},
    .test_sizes = {{{"bytes", 256}}, {{"bytes", 65536 + 256}}},
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
