/// The oracle of copies between host and GPU: what arrives has the bits of what went.
#include "common/problem/transfer.hpp"

#include "common/problem/problem.hpp"

namespace rung {
namespace {

constexpr std::int64_t kElementsLimit = std::int64_t{1} << 32;

const std::vector<Value>& directions() {
  static const std::vector<Value> all = words({"to_gpu", "from_gpu", "both"});
  return all;
}

Params complete(const Params& given) {
  if (!given.has("direction")) throw Error("size 'direction' is not given: to_gpu, from_gpu or both");
  return {{"direction", given.value("direction")}, {"n", positive_size(given, "n", "n", kElementsLimit)}};
}

std::vector<Operand> operands(const Params& sizes) {
  const auto elements = static_cast<std::size_t>(sizes.at("n"));
  const bool is_out = direction_of(sizes) == Direction::from_gpu;
  const Place here = is_out ? Place::device : Place::pageable, there = is_out ? Place::pageable : Place::device;
  std::vector<Operand> all{{.name = "from", .elements = elements, .place = here},
                           {.name = "to", .elements = elements, .role = Role::output, .place = there}};
  if (direction_of(sizes) == Direction::both) {
    all.push_back({.name = "back_from", .elements = elements});
    all.push_back({.name = "back_to", .elements = elements, .role = Role::output, .place = Place::pageable});
  }
  return all;
}

void fill_inputs(const Params& sizes, const DataSet& data, std::uint64_t seed, std::span<void* const> host) {
  const auto elements = static_cast<std::size_t>(sizes.at("n"));
  for (std::size_t i = 0; i < host.size(); i += 2) fill_float({static_cast<float*>(host[i]), elements}, data, seed + i);
}

/// Nothing to work out: each copy is compared with the original that the judge is handed, bit by bit.
Judge reference(const Params& sizes, const DataSet&, std::uint64_t, std::span<const void* const>) {
  return [all = operands(sizes), n = sizes.at("n")](std::span<const void* const> host) {
    Check check;
    for (std::size_t i = 0; i < all.size() && check.passed(); i += 2) {
      const auto* from = static_cast<const std::uint32_t*>(host[i]);
      check = compare_elements("bits of " + all[i + 1].name, static_cast<const std::uint32_t*>(host[i + 1]), n,
                               [=](std::int64_t at) { return Expected{static_cast<double>(from[at])}; });
    }
    return check;
  };
}

std::vector<Params> test_sizes() {
  std::vector<Params> all;
  for (const Value& direction : directions())
    for (const std::int64_t n : {1, 3, 255, 1024, 4099}) all.push_back({{"direction", direction}, {"n", n}});
  return all;
}

const bool added = add_problem({
    .family = "transfer",
    .title = "Copies between host and GPU",
    .metric = bandwidth(),
    .data = {random_reals()},
    .size_names = {"direction", "n"},
    .size_words = {{"direction", directions()}},
    .test_sizes = test_sizes(),
    .complete = complete,
    .operands = operands,
    .flops = [](const Params&) { return 0.0; },
    .bytes_min = transfer_bytes,
    .fill = fill_inputs,
    .reference = reference,
});

}  // namespace
}  // namespace rung
