/// One pass. A block adds up its tile, publishes the sum, and looks back at the tiles before its own. Where a tile has
/// published only its own sum, that is added and the search continues; a tile with the sum of everything up to its end
/// ends the search. Few blocks ever wait, since earlier blocks have published at least their own sums. Each element is
/// read once and written once: the bound is the bandwidth of a copy.
///
/// A block waits only for blocks that already run: a counter assigns tiles in the order in which blocks start. A tile
/// publishes one word of 64 bits, a sum and its state, that is read and written in one access; so no fence is needed
/// between a value and its flag.
/// The words need not be cleared for the next run. The counter keeps counting from run to run, so a ticket divided by
/// the number of tiles is the number of the run; that number is in each word, and words of earlier runs are ignored. So
/// one launch is enough, where clearing the words would take a second one.
/// How many sums a block adds while it looks back depends on timing, so results may differ in their last bits from run
/// to run.
#include <type_traits>

#include "gpu/prefix_sum/tile.hpp"

namespace rung {
namespace {

using Word = unsigned long long;

/// The state of a tile in a given run: the upper half of its word. 0 before the first run.
struct States {
  unsigned own, whole;  ///< the sum of the tile; the sum of everything up to its end
  __device__ __forceinline__ explicit States(unsigned run) : own(2 * run + 1), whole(2 * run + 2) {}
};

__device__ __forceinline__ Word word_of(unsigned state, reg<float> sum) {
  return Word{state} << 32 | __float_as_uint(sum);
}

constexpr int kMostReach = 4;

/// The sum of all tiles before `tile`, by one warp. A lane reads `reach` words at a time, so that the warp sees 32
/// `reach` tiles within the latency of one access; lane 0 reads the nearest.
__device__ __forceinline__ reg<float> look_back(const volatile mem<Word>* words, int tile, States states, int reach) {
  reg<float> sum = 0;
  for (int nearest = tile - 1; nearest >= 0;) {
    Word seen[kMostReach];
    for (int i = 0; i < kMostReach; ++i) {
      const int other = nearest - 32 * i - lane_index();
      seen[i] = i < reach && other >= 0 ? static_cast<Word>(words[other]) : Word{0};
    }
    for (int i = 0; i < kMostReach; ++i) {  // from near to far, up to the first unknown sum
      const unsigned state = static_cast<unsigned>(seen[i] >> 32);
      const unsigned whole = __ballot_sync(kAllLanes, state == states.whole);
      const unsigned known = __ballot_sync(kAllLanes, state == states.whole || state == states.own);
      const unsigned first_whole = whole & -whole;  // a bit for each lane: the first that ends the search
      const unsigned needed = first_whole == 0 ? kAllLanes : 2 * first_whole - 1;
      if (needed & ~known) break;  // read again from here on
      const bool counts = needed >> lane_index() & 1;
      sum += warp_total(counts ? __uint_as_float(static_cast<unsigned>(seen[i])) : reg<float>(0.0f));
      if (first_whole) return sum;  // tile 0 publishes its whole sum at once, so it ends every search
      nearest -= 32;
    }
  }
  return sum;
}

template <int Threads, int Rows>
__global__ void __launch_bounds__(Threads) scan_look_back(const mem<float>* x, mem<float>* y, volatile mem<Word>* words,
                                                          mem<Word>* tickets, int n, int reach) {
  __shared__ mem<unsigned> tile_of_block, run_of_block;
  __shared__ mem<float> before_tile;
  if (threadIdx.x == 0) {
    const Word ticket = atomicAdd(&tickets[0], Word{1});
    tile_of_block = static_cast<unsigned>(ticket % gridDim.x);
    run_of_block = static_cast<unsigned>(ticket / gridDim.x);
  }
  __syncthreads();  // all threads can read the block's tile
  const int tile = static_cast<int>(static_cast<unsigned>(tile_of_block));
  const int first = (tile * (Threads / 32) + warp_index()) * (Rows * kRow);
  Part<Rows> part;
  part.load(x, first, n);
  const BlockSums joined = join_warps<Threads>(part.scan());
  if (warp_index() == 0) {
    const States states(run_of_block);
    if (tile > 0 && lane_index() == 0) words[tile] = word_of(states.own, joined.total);
    const reg<float> before = look_back(words, tile, states, reach);
    if (lane_index() == 0) {
      words[tile] = word_of(states.whole, before + joined.total);
      before_tile = before;
    }
  }
  __syncthreads();  // the sum of all tiles before is there
  part.store(y, first, n, before_tile + joined.before);
}

const bool added = add_gpu_kernel({
    .name = "gpu/prefix_sum/look_back",
    .order = 40,
    .title = "decoupled look-back",
    .idea = "One pass: each block publishes its sum at once and looks back over the sums of the tiles before its own.",
    .source = {{"merrill2016"}},
    .tunables = {{"items", TileItems::values()}, {"threads", TileThreads::values()}, {"reach", {1, 2, kMostReach}}},
    .scratch =
        [](const Params& p) {
          const auto zeroed = [](const char* name, std::size_t count) {
            return Operand{
                .name = name, .elements = 2 * count, .type = Type::uint32, .role = Role::scratch, .is_zeroed = true};
          };
          return std::vector{zeroed("words", tiles_of(p)), zeroed("tickets", 1)};
        },
    .gpu =
        {
            .blocks_wait = true,
            .launch = tile_launch,
            .requested =
                [](const Params& p) {  // where no block waits, the tile just before ends the search
                  const double n = 4.0 * p.at("n"), tiles = tiles_of(p);
                  const double reach = 32.0 * p.at("reach"), near = std::min(tiles, reach + 1);
                  const double seen = near * (near - 1) / 2 + reach * (tiles - near);  // words
                  const double told = 2 * tiles - 1, tickets = tiles;
                  return Traffic{.loaded = n + 8 * seen, .stored = n + 8 * (told + tickets)};
                },
        },
    .run =
        [](const Call& call) {
          with_tile(call.params, [&](auto threads, auto rows) {
            launch(call, scan_look_back<threads, rows>, call.operand<const mem<float>>(0), call.operand<mem<float>>(1),
                   call.operand<mem<Word>>(2), call.operand<mem<Word>>(3), static_cast<int>(call.params.at("n")),
                   static_cast<int>(call.params.at("reach")));
          });
        },
});

}  // namespace
}  // namespace rung
