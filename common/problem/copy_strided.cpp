/// The oracle of the strided copy: every word of y has the bits of the word of x that the formula names.
#include "common/problem/copy_strided.hpp"

#include <fmt/core.h>

#include "common/problem/problem.hpp"

namespace rung {
namespace {

constexpr std::int64_t kElementsLimit = std::int64_t{1} << 34;

Params complete(const Params& given) {
  const auto or_else = [&](const char* name, std::int64_t usual) {
    return given.has(name) ? positive_size(given, name, "", kElementsLimit) : usual;
  };
  const std::int64_t n = positive_size(given, "n", "n", kElementsLimit), offset = given.get("offset", 0);
  const std::int64_t width = or_else("width", 4);
  if (width != 4 && width != 8 && width != 16) throw Error(fmt::format("size width = {} is not 4, 8 or 16", width));
  if (offset < 0 || offset >= n) throw Error(fmt::format("size offset = {} is outside 0..{}", offset, n - 1));
  return {{"n", n}, {"stride", or_else("stride", 1)}, {"offset", offset}, {"width", width}};
}

/// What is not as usual.
Params brief(const Params& sizes) {
  Params shown{{"n", sizes.at("n")}};
  if (sizes.at("stride") != 1) shown.set("stride", sizes.at("stride"));
  if (sizes.at("offset") != 0) shown.set("offset", sizes.at("offset"));
  if (sizes.at("width") != 4) shown.set("width", sizes.at("width"));
  return shown;
}

std::vector<Operand> operands(const Params& sizes) {
  const std::int64_t words = sizes.at("width") / 4;
  return {{.name = "x", .elements = static_cast<std::size_t>(sizes.at("n") * words)},
          {.name = "y", .elements = static_cast<std::size_t>(strided_elements(sizes) * words), .role = Role::output}};
}

void fill_inputs(const Params& sizes, const DataSet& data, std::uint64_t seed, std::span<void* const> host) {
  fill_float({static_cast<float*>(host[0]), operands(sizes)[0].elements}, data, seed);
}

/// Nothing to work out: y is compared with the x that the judge is handed.
Judge reference(const Params& sizes, const DataSet&, std::uint64_t, std::span<const void* const>) {
  const auto n = static_cast<std::int64_t>(operands(sizes)[1].elements), words = sizes.at("width") / 4;
  return [=, stride = sizes.at("stride"), offset = sizes.at("offset")](std::span<const void* const> host) {
    const auto* x = static_cast<const std::uint32_t*>(host[0]);
    return compare_elements("bits of y", static_cast<const std::uint32_t*>(host[1]), n, [=](std::int64_t i) {
      return Expected{static_cast<double>(x[(offset + i / words * stride) * words + i % words])};
    });
  };
}

Params sizes_of(std::int64_t n, std::int64_t stride, std::int64_t offset, std::int64_t width) {
  return {{"n", n}, {"stride", stride}, {"offset", offset}, {"width", width}};
}

const bool added = add_problem({
    .family = "copy_strided",
    .title = "Copying every k-th element",
    .metric = bandwidth(),
    .data = {random_reals()},
    .size_names = {"n", "stride", "offset", "width"},
    .test_sizes = {sizes_of(1, 1, 0, 4), sizes_of(1, 5, 0, 16), sizes_of(1025, 1, 1, 4), sizes_of(4099, 2, 31, 8),
                   sizes_of(5003, 33, 5, 4), sizes_of(3001, 3, 3000, 16), sizes_of(10007, 1, 7, 16)},
    .complete = complete,
    .brief = brief,
    .operands = operands,
    .flops = [](const Params&) { return 0.0; },
    .bytes_min = [](const Params& p) { return 2 * strided_bytes(p); },
    .fill = fill_inputs,
    .reference = reference,
});

}  // namespace
}  // namespace rung
