/// The oracle of "fma", for all chains of all workers.
#include "common/problem/chains.hpp"

namespace rung {
namespace {

constexpr std::int64_t kEachLimit = 64;
constexpr std::int64_t kIterations = 16384, kIterationsLimit = std::int64_t{1} << 20;

Params complete(const Params& given) {
  Params sizes = complete_workers(given);
  sizes.set("each", given.has("each") ? positive_size(given, "each", "", kEachLimit) : 1);
  const std::int64_t iterations =
      given.has("iterations") ? positive_size(given, "iterations", "", kIterationsLimit) : kIterations;
  if (iterations % kFmaGranule)
    throw Error("size iterations = " + std::to_string(iterations) + " is not a multiple of " +
                std::to_string(kFmaGranule));
  sizes.set("iterations", iterations);
  return sizes;
}

Params as_fma(const Params& p) { return {{"chains", chains_in(p)}, {"iterations", p.at("iterations")}}; }

Params sizes_of(std::int64_t blocks, std::int64_t block, std::int64_t each, std::int64_t iterations) {
  return {{"blocks", blocks}, {"block", block}, {"each", each}, {"iterations", iterations}};
}

const bool added = add_problem({
    .family = "chains",
    .title = "Chains of multiply-adds, so many a worker",
    .size_names = worker_sizes({"each", "iterations"}),
    .test_sizes = {sizes_of(1, 1, 1, 16), sizes_of(3, 1, 3, 48), sizes_of(5, 4, 2, 64), sizes_of(3, 8, 8, 32),
                   sizes_of(2, 16, 4, 80), sizes_of(7, 37, 6, 16), sizes_of(3, 128, 1, 1024)},
    .complete = complete,
    .operands = [](const Params& p) { return fma_operands(as_fma(p)); },
    .flops = [](const Params& p) { return fma_flops(as_fma(p)); },
    .fill = [](const Params& p, const DataSet& data, std::uint64_t seed,
               std::span<void* const> host) { fill_fma(as_fma(p), data, seed, host); },
    .reference = [](const Params& p, const DataSet& data, std::uint64_t seed,
                    std::span<const void* const> host) { return fma_reference(as_fma(p), data, seed, host); },
});

}  // namespace
}  // namespace rung
