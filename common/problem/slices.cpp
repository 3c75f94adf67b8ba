/// The oracle: each worker's sum, exact in integers.
#include "common/problem/slices.hpp"

#include <memory>

#include "common/problem/problem.hpp"

namespace rung {
namespace {

constexpr std::int64_t kWords = 4;  // of a load
constexpr std::int64_t kLoads = 256, kLoadsLimit = std::int64_t{1} << 20;

Params complete(const Params& given) {
  Params sizes = complete_workers(given);
  sizes.set("loads", given.has("loads") ? positive_size(given, "loads", "", kLoadsLimit) : kLoads);
  return sizes;
}

std::vector<Operand> operands(const Params& p) {
  const auto all = static_cast<std::size_t>(workers(p));
  return {{.name = "data", .elements = all * p.at("loads") * kWords, .type = Type::uint32},
          {.name = "sums", .elements = all, .type = Type::uint32, .role = Role::output}};
}

void fill_inputs(const Params& sizes, const DataSet&, std::uint64_t seed, std::span<void* const> host) {
  auto* data = static_cast<std::uint32_t*>(host[0]);
  const auto n = static_cast<std::int64_t>(operands(sizes)[0].elements);
#pragma omp parallel for
  for (std::int64_t i = 0; i < n; ++i)
    data[i] = static_cast<std::uint32_t>(random_bits(seed, static_cast<std::uint64_t>(i)) >> 32);
}

Judge reference(const Params& sizes, const DataSet&, std::uint64_t, std::span<const void* const> host) {
  const auto* data = static_cast<const std::uint32_t*>(host[0]);
  const std::int64_t blocks = sizes.at("blocks"), block = sizes.at("block"), loads = sizes.at("loads");
  const auto sums = std::make_shared<std::vector<std::uint32_t>>(blocks * block);
#pragma omp parallel for
  for (std::int64_t b = 0; b < blocks; ++b)
    for (std::int64_t i = 0; i < loads; ++i)
      for (std::int64_t t = 0; t < block; ++t) {
        const std::uint32_t* words = data + ((b * loads + i) * block + t) * kWords;
        for (std::int64_t w = 0; w < kWords; ++w) (*sums)[b * block + t] += words[w];
      }
  return [=](std::span<const void* const> outputs) {
    return compare_elements("sums", static_cast<const std::uint32_t*>(outputs[1]), blocks * block,
                            [&](std::int64_t i) { return Expected{static_cast<double>((*sums)[i])}; });
  };
}

Params sizes_of(std::int64_t blocks, std::int64_t block, std::int64_t loads) {
  return {{"blocks", blocks}, {"block", block}, {"loads", loads}};
}

const bool added = add_problem({
    .family = "slices",
    .type = Type::uint32,
    .title = "Reading an array, so much a worker",
    .metric = bandwidth(),
    .data = {{.name = "random", .what = "random bits", .is_exact = true}},
    .size_names = worker_sizes({"loads"}),
    .test_sizes = {sizes_of(1, 1, 1), sizes_of(1, 1, 13), sizes_of(3, 5, 8), sizes_of(2, 33, 4), sizes_of(3, 256, 19)},
    .complete = complete,
    .operands = operands,
    .flops = [](const Params&) { return 0.0; },
    .fill = fill_inputs,
    .reference = reference,
    .redraw = redraw_word,
});

}  // namespace
}  // namespace rung
