/// "gather": elements in the order that a list of indices gives, the textbook's shuffling of data. The cost depends on
/// that order alone, so the data sets are orders.
///
/// Sizes     n: elements, below 2^31.
/// Operand 0 `x`, input: n float32; operand 1 `index`, input: n int32, a permutation of 0 .. n - 1.
/// Operand 2 `y`, output: n float32.
/// Formula   y[i] = x[index[i]], bit for bit. Compulsory bytes: 12 n, index and x read once, y written once.
/// Data      random: a random permutation; sorted: the same, in ascending order within each eighth of the list; local:
///           a random permutation of each 4096 neighbours; lanes: of each 32, which a warp loads at once; strided:
///           neighbours are 32 elements apart, as if a matrix of 32 columns were read by columns; identity.
///
/// The oracle: each element of y has the bits of the element of x that its index names.
#include <algorithm>
#include <bit>
#include <limits>

#include "common/problem/problem.hpp"

namespace rung {
namespace {

constexpr std::int64_t kElementsLimit = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kColumns = 32, kWarp = 32, kNeighbours = 4096, kSortedParts = 8;

Params complete(const Params& given) { return {{"n", positive_size(given, "n", "n", kElementsLimit)}}; }

std::vector<Operand> operands(const Params& sizes) {
  const auto elements = static_cast<std::size_t>(sizes.at("n"));
  return {{.name = "x", .elements = elements},
          {.name = "index", .elements = elements, .type = Type::int32},
          {.name = "y", .elements = elements, .role = Role::output}};
}

/// A random permutation of 0 .. n - 1 whose i-th number can be computed on its own: a Feistel network permutes the
/// numbers of an even number of bits, and is applied again where its result is beyond n.
class Permutation {
 public:
  Permutation(std::int64_t n, std::uint64_t seed)
      : n_(static_cast<std::uint64_t>(n)), seed_(seed), half_((std::bit_width(n_ - 1) + 1) / 2) {}

  std::int64_t operator()(std::int64_t i) const {
    auto number = static_cast<std::uint64_t>(i);
    do number = mixed(number);
    while (number >= n_);
    return static_cast<std::int64_t>(number);
  }

 private:
  static constexpr int kRounds = 4;

  std::uint64_t mixed(std::uint64_t number) const {
    const std::uint64_t mask = (std::uint64_t{1} << half_) - 1;
    std::uint64_t left = number >> half_, right = number & mask;
    for (int round = 0; round < kRounds; ++round) {
      const std::uint64_t next = left ^ (random_bits(seed_ + round, right) & mask);
      left = right;
      right = next;
    }
    return left << half_ | right;
  }

  std::uint64_t n_, seed_;
  int half_;
};

/// index[i] = at(i).
template <typename Function>
void fill_index(std::span<std::int32_t> index, const Function& at) {
  const auto n = static_cast<std::int64_t>(index.size());
#pragma omp parallel for
  for (std::int64_t i = 0; i < n; ++i) index[i] = static_cast<std::int32_t>(at(i));
}

/// A permutation of each `neighbours` elements that follow each other.
void fill_local(std::span<std::int32_t> index, std::int64_t neighbours, std::uint64_t seed) {
  const auto n = static_cast<std::int64_t>(index.size());
  fill_index(index, [=](std::int64_t i) {
    const std::int64_t first = i / neighbours * neighbours;
    return first + Permutation(std::min(neighbours, n - first), seed + first)(i - first);
  });
}

/// Whole rows of kColumns elements, column by column; then what is left.
void fill_strided(std::span<std::int32_t> index) {
  const std::int64_t rows = static_cast<std::int64_t>(index.size()) / kColumns;
  fill_index(index, [=](std::int64_t i) { return i < rows * kColumns ? i % rows * kColumns + i / rows : i; });
}

void sort_parts(std::span<std::int32_t> index) {
  const auto n = static_cast<std::int64_t>(index.size());
#pragma omp parallel for schedule(dynamic)
  for (std::int64_t part = 0; part < kSortedParts; ++part)
    std::sort(index.begin() + n * part / kSortedParts, index.begin() + n * (part + 1) / kSortedParts);
}

void fill_inputs(const Params& sizes, const DataSet& data, std::uint64_t seed, std::span<void* const> host) {
  const std::size_t elements = operands(sizes)[0].elements;
  fill_float({static_cast<float*>(host[0]), elements}, random_reals(), seed);
  const std::span<std::int32_t> index{static_cast<std::int32_t*>(host[1]), elements};
  if (data.name == "identity") return fill_index(index, [](std::int64_t i) { return i; });
  if (data.name == "strided") return fill_strided(index);
  if (data.name == "lanes") return fill_local(index, kWarp, seed + 1);
  if (data.name == "local") return fill_local(index, kNeighbours, seed + 1);
  fill_index(index, Permutation(sizes.at("n"), seed + 1));
  if (data.name == "sorted") sort_parts(index);
}

Judge reference(const Params& sizes, const DataSet&, std::uint64_t, std::span<const void* const>) {
  return [n = sizes.at("n")](std::span<const void* const> host) {
    const auto* x = static_cast<const std::uint32_t*>(host[0]);
    const auto* index = static_cast<const std::int32_t*>(host[1]);
    return compare_elements("bits of y", static_cast<const std::uint32_t*>(host[2]), n,
                            [=](std::int64_t i) { return Expected{static_cast<double>(x[index[i]])}; });
  };
}

const bool added = add_problem({
    .family = "gather",
    .title = "Gathering elements",
    .metric = bandwidth(),
    .data = {{"random", "a random permutation"},
             {"sorted", "the same permutation, in ascending order within each eighth"},
             {"local", "a random permutation of each 4096 neighbours"},
             {"lanes", "a random permutation of each 32 neighbours, a warp's"},
             {"strided", "neighbours 32 elements apart"},
             {"identity", "every element at its own place"}},
    .size_names = {"n"},
    .test_sizes = {{{"n", 1}}, {{"n", 2}}, {{"n", 31}}, {{"n", 257}}, {{"n", 1027}}, {{"n", 10001}}},
    .complete = complete,
    .operands = operands,
    .flops = [](const Params&) { return 0.0; },
    .fill = fill_inputs,
    .reference = reference,
    .redraw = redraw_between(-1, 1),
});

}  // namespace
}  // namespace rung
