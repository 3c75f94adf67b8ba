/// "chase": walks along a cycle of nodes. Each node holds the place of the next, so that no load can begin before the
/// one before it has ended. One walker measures the latency of the memory that holds the nodes; several, which start
/// spread along the cycle, measure how many loads can be in flight at once.
///
/// Sizes     bytes: of the array, up to 16 GiB; stride: bytes from one node's place to the next, 64 if not given;
///           walkers: 1 if not given; steps: of each walker, one lap if not given, but from 2^14 to 2^18.
/// Operand 0 `next`, input: bytes / 4 uint32. The nodes are the words at multiples of the stride, and each holds the
///           index of the word to go to; the words between them are 0 and not read.
/// Operand 1 `at`, in and out: one uint32 per walker, the word that it is at. It keeps its place between runs, so that
///           several runs in a row visit the whole array even if one run does not.
/// Operand 2 `sums`, output: one uint32 per walker: the sum of the indices that it has read, modulo 2^32.
/// Formula   `steps` times: at = next[at]; sum += at.
/// Data      random: the cycle visits the nodes in a random order, which no prefetcher guesses; sequential: in the
///           order of their addresses.
///
/// The oracle walks the cycle once, in many pieces at a time, stores each node's place in it and the sum of the indices
/// up to there, and finds by division where every walker ends and its sum.
#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

#include "common/problem/problem.hpp"

namespace rung {
namespace {

constexpr std::int64_t kBytesLimit = std::int64_t{1} << 34;  // the index of a word has 32 bits
constexpr std::int64_t kWalkersLimit = std::int64_t{1} << 24;
constexpr std::int64_t kStepsLimit = std::int64_t{1} << 30;
constexpr std::int64_t kLine = 64;
constexpr std::int64_t kFewestSteps = std::int64_t{1} << 14, kMostSteps = std::int64_t{1} << 18;

std::int64_t nodes_in(const Params& p) { return p.at("bytes") / p.at("stride"); }

Params complete(const Params& given) {
  const auto or_else = [&](const char* name, std::int64_t usual, std::int64_t limit) {
    return given.has(name) ? positive_size(given, name, "", limit) : usual;
  };
  Params sizes{{"bytes", positive_size(given, "bytes", "bytes", kBytesLimit)},
               {"stride", or_else("stride", kLine, kBytesLimit)}};
  for (const char* name : {"bytes", "stride"})
    if (sizes.at(name) % 4)
      throw Error(std::string("size ") + name + " = " + std::to_string(sizes.at(name)) + " is not a multiple of 4");
  if (nodes_in(sizes) < 1) throw Error("size stride = " + std::to_string(sizes.at("stride")) + " is more than bytes");
  sizes.set("walkers", or_else("walkers", 1, kWalkersLimit));
  sizes.set("steps", or_else("steps", std::clamp(nodes_in(sizes), kFewestSteps, kMostSteps), kStepsLimit));
  return sizes;
}

std::vector<Operand> operands(const Params& p) {
  const auto walkers = static_cast<std::size_t>(p.at("walkers"));
  return {{.name = "next", .elements = static_cast<std::size_t>(p.at("bytes") / 4), .type = Type::uint32},
          {.name = "at", .elements = walkers, .type = Type::uint32, .role = Role::in_out},
          {.name = "sums", .elements = walkers, .type = Type::uint32, .role = Role::output}};
}

/// The nodes in the order in which the cycle visits them.
std::vector<std::uint32_t> order_of(std::int64_t nodes, const DataSet& data, std::uint64_t seed) {
  std::vector<std::uint32_t> order(nodes);
  std::iota(order.begin(), order.end(), 0u);
  if (data.name == "sequential") return order;
  for (std::int64_t i = nodes - 1; i > 0; --i)  // Fisher and Yates
    std::swap(order[i], order[random_bits(seed, static_cast<std::uint64_t>(i)) % (i + 1)]);
  return order;
}

void fill_inputs(const Params& p, const DataSet& data, std::uint64_t seed, std::span<void* const> host) {
  auto *next = static_cast<std::uint32_t*>(host[0]), *at = static_cast<std::uint32_t*>(host[1]);
  const std::int64_t nodes = nodes_in(p), walkers = p.at("walkers"), words = p.at("stride") / 4;
  const std::vector<std::uint32_t> order = order_of(nodes, data, seed);
  const auto word_of = [&](std::int64_t place) { return static_cast<std::uint32_t>(order[place % nodes] * words); };
  const std::int64_t all = p.at("bytes") / 4;
#pragma omp parallel for
  for (std::int64_t i = 0; i < all; ++i) next[i] = 0;
#pragma omp parallel for
  for (std::int64_t i = 0; i < nodes; ++i) next[word_of(i)] = word_of(i + 1);
  for (std::int64_t w = 0; w < walkers; ++w) at[w] = word_of(w * nodes / walkers);
}

/// A part of the cycle: the words from one of some nodes, which lie evenly in memory, up to before the next of them
/// that the cycle visits.
struct Piece {
  std::vector<std::uint32_t> words;
  std::uint32_t sum = 0;
  std::size_t next = 0;  ///< the piece that follows
};

/// A walk waits for the memory at each step, so each thread interleaves the walks of several pieces.
std::vector<Piece> pieces_of(const std::uint32_t* next, std::int64_t nodes, std::int64_t words) {
  constexpr std::int64_t kPieces = 1024, kTogether = 8;
  const auto apart = static_cast<std::uint32_t>(std::max<std::int64_t>(nodes / kPieces, 1) * words);
  const auto count = static_cast<std::int64_t>((nodes * words - 1) / apart + 1);
  std::vector<Piece> pieces(static_cast<std::size_t>(count));
#pragma omp parallel for schedule(dynamic)
  for (std::int64_t first = 0; first < count; first += kTogether) {
    std::vector<std::pair<std::uint32_t, Piece*>> walks;  // the word that each is at
    for (std::int64_t i = first; i < std::min(first + kTogether, count); ++i)
      walks.emplace_back(static_cast<std::uint32_t>(i) * apart, &pieces[static_cast<std::size_t>(i)]);
    while (!walks.empty()) {
      for (auto& [here, piece] : walks) {
        piece->words.push_back(here);
        piece->sum += here;
        here = next[here];
      }
      std::erase_if(walks, [&](const auto& walk) {
        walk.second->next = walk.first / apart;
        return walk.first % apart == 0;
      });
    }
  }
  return pieces;
}

/// The cycle as it lies in memory: the word at each place, each node's place, and the sum of the words before a place.
struct Cycle {
  std::vector<std::uint32_t> word, place, before;

  Cycle(const std::uint32_t* next, std::int64_t nodes, std::int64_t words)
      : word(nodes), place(nodes), before(nodes + 1) {
    const std::vector<Piece> pieces = pieces_of(next, nodes, words);
    struct Start {
      std::size_t piece, place;
      std::uint32_t before;
    };
    std::vector<Start> starts{{0, 0, 0}};
    while (starts.size() < pieces.size()) {
      const auto [last, at, sum] = starts.back();
      starts.push_back({pieces[last].next, at + pieces[last].words.size(), sum + pieces[last].sum});
    }
#pragma omp parallel for schedule(dynamic)
    for (const Start& start : starts) {
      std::size_t at = start.place;
      std::uint32_t sum = start.before;
      for (const std::uint32_t here : pieces[start.piece].words) {
        word[at] = here;
        place[here / words] = static_cast<std::uint32_t>(at);
        before[++at] = sum += here;
      }
    }
  }
};

/// Where a walker ends, and the sum of what it has read.
struct Walked {
  std::uint32_t at = 0, sum = 0;
};

/// Places first + 1 … first + steps.
Walked walked(const Cycle& cycle, std::int64_t first, std::int64_t steps) {
  const auto nodes = static_cast<std::int64_t>(cycle.word.size());
  const auto sum_before = [&](std::int64_t place) {  // of the places 0 … place - 1, laps included
    return static_cast<std::uint32_t>(place / nodes) * cycle.before.back() + cycle.before[place % nodes];
  };
  return {cycle.word[(first + steps) % nodes], sum_before(first + steps + 1) - sum_before(first + 1)};
}

Judge reference(const Params& p, const DataSet&, std::uint64_t, std::span<const void* const> host) {
  const auto *next = static_cast<const std::uint32_t*>(host[0]), *at = static_cast<const std::uint32_t*>(host[1]);
  const std::int64_t walkers = p.at("walkers"), words = p.at("stride") / 4;
  const Cycle cycle(next, nodes_in(p), words);
  const auto want = std::make_shared<std::vector<Walked>>();
  for (std::int64_t w = 0; w < walkers; ++w) want->push_back(walked(cycle, cycle.place[at[w] / words], p.at("steps")));
  return [=](std::span<const void* const> outputs) {
    const Check ends = compare_elements("at", static_cast<const std::uint32_t*>(outputs[1]), walkers,
                                        [&](std::int64_t w) { return Expected{static_cast<double>((*want)[w].at)}; });
    if (!ends.passed()) return ends;
    return compare_elements("sums", static_cast<const std::uint32_t*>(outputs[2]), walkers,
                            [&](std::int64_t w) { return Expected{static_cast<double>((*want)[w].sum)}; });
  };
}

Params sizes_of(std::int64_t bytes, std::int64_t stride, std::int64_t walkers, std::int64_t steps) {
  return {{"bytes", bytes}, {"stride", stride}, {"walkers", walkers}, {"steps", steps}};
}

double loads(const Params& p) { return static_cast<double>(p.at("walkers")) * static_cast<double>(p.at("steps")); }

const bool added = add_problem({
    .family = "chase",
    .type = Type::uint32,
    .title = "Walking along a cycle of pointers",
    .metric = {.key = "loads_per_s", .unit = "load/s", .amount = [](const Params& p) { return 1e9 * loads(p); }},
    .data = {{"random", "a random cycle"}, {"sequential", "the nodes one after the other"}},
    .size_names = {"bytes", "stride", "walkers", "steps"},
    .size_what = {{"bytes", "bytes that the chain goes through"}},
    .test_sizes = {sizes_of(4, 4, 1, 3), sizes_of(64, 64, 2, 5), sizes_of(1000, 8, 7, 31), sizes_of(4096, 64, 8, 200),
                   sizes_of(20000, 132, 40, 333), sizes_of(16384, 128, 96, 64), sizes_of(40000, 8, 3, 7000)},
    .complete = complete,
    .operands = operands,
    .flops = [](const Params&) { return 0.0; },
    .bytes_min = [](const Params& p) { return 4.0 * std::min(static_cast<double>(nodes_in(p)), loads(p)); },
    .fill = fill_inputs,
    .reference = reference,
});

}  // namespace
}  // namespace rung
