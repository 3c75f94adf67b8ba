#include "common/problem/workers.hpp"

#include <algorithm>

#include "common/problem/problem.hpp"

namespace rung {
namespace {

constexpr std::int64_t kBlocksLimit = std::int64_t{1} << 30;
constexpr std::int64_t kBlockLimit = 1024;

std::int64_t blocks_of(const Params& given) {
  if (given.has("blocks")) return positive_size(given, "blocks", "", kBlocksLimit);
  const std::int64_t per_unit = given.get("per_unit", 1), extra = given.get("extra", 0);
  if (per_unit < 0 || per_unit > kBlocksLimit)
    throw Error("size per_unit = " + std::to_string(per_unit) + " is not a number of blocks");
  const std::int64_t units = given.has("units") ? positive_size(given, "units", "", kBlocksLimit) : 1;
  const std::int64_t blocks = std::max<std::int64_t>(units * per_unit + extra, 1);
  if (blocks > kBlocksLimit) throw Error("size per_unit = " + std::to_string(per_unit) + " gives too many blocks");
  return blocks;
}

}  // namespace

std::vector<std::string> worker_sizes(std::vector<std::string> others) {
  std::vector<std::string> names{"blocks", "units", "per_unit", "extra", "block"};
  names.insert(names.end(), others.begin(), others.end());
  return names;
}

Params complete_workers(const Params& given) {
  return {{"blocks", blocks_of(given)},
          {"block", given.has("block") ? positive_size(given, "block", "", kBlockLimit) : 1}};
}

}  // namespace rung
