/// One pass by blocks with specialised warps. Each multiprocessor has one resident block, G in all, which takes every
/// G-th tile. The warps of a block synchronise by mbarriers only, three for each slot of a ring in shared memory:
///  - one warp has tiles copied in bulk into the ring, a few at a time, and prefetches the next ones into L2;
///  - four warps add up one tile each as soon as it has arrived, and publish its sum;
///  - four warps add, for one tile each, the published sums of the G tiles since the block's previous tile;
///  - eight warps scan an eighth of each tile and store it.
///
/// Floor: 8 bytes per element through DRAM, at the rate of a copy. Each row of 128 elements is copied to shared memory
/// and read twice, 4 cycles each, and takes 9 shuffles: 21 cycles, fewer than DRAM needs for the row. For each tile a
/// block reads G words of 8 bytes, which is little next to the bytes of the tile.
///
/// What it takes to come near that floor (experiments/prefix_sum.toml sweeps these tunables):
///  - Prefetch: L2 fetches a tile while the previous one is copied to shared memory. Fetching more tiles early is
///    slower.
///  - Lag: a warp that reads words too early has to read them again. It begins when the third tile after its own has
///    arrived in its block; by then nearly all other blocks have published their sums. Four warps alternate, so that
///    waiting for one tile's words does not delay the next tile.
///  - Ring: tiles wait in shared memory after their sums are published, so the ring holds as many as fit.
/// Tiles of 2048 elements are the fastest for the longest arrays, but not for shorter ones.
///
/// A word holds a tile's sum and the number of the run, 64 bits that are read and written in one access; see
/// look_back.cu. Which sums are added, and in which order, depends only on n and the GPU: every run gives the same
/// bits.
/// Blocks wait for later blocks, so all must be resident: the launch is cooperative, and refused where they do not fit.
/// There is no deadlock: a tile's sum is published as soon as the tile has arrived, and a tile is loaded once its slot
/// is free, which depends only on words of earlier rounds.
/// Source: Merrill and Garland, Single-pass Parallel Prefix Scan with Decoupled Look-back, 2016 (one pass); Yan, Long
/// and Zhang, StreamScan, 2013 (sums passed between resident blocks); NVIDIA PTX ISA 8.0 (cp.async.bulk, mbarrier);
/// CUTLASS, warp specialisation.
#include "common/machine/device_facts.hpp"
#include "gpu/prefix_sum/tile.hpp"
#include "gpu/simt/hopper_ptx.hpp"
#include "gpu/simt/launch_together.hpp"

namespace rung {
namespace {

using Word = unsigned long long;

using TileElements = Choices<8192, 4096, 2048>;
using RingKilobytes = Choices<208, 128, 64>;

// The warps of a block in this order: the loader, then the warps that add, look at other blocks' words, and scan.
constexpr int kAdders = 4, kLookers = 4, kScanners = 8;
constexpr int kFirstLooker = 1 + kAdders, kFirstScanner = kFirstLooker + kLookers;
constexpr int kThreads = 32 * (kFirstScanner + kScanners);
constexpr int kMostSlots = 32;
constexpr unsigned kBackOff = 50;  ///< nanoseconds before words are read again

int tile_of(const Params& p) { return static_cast<int>(p.at("tile")); }
unsigned bulk_tiles(const Params& p) { return blocks_for(p.at("n"), tile_of(p)); }
unsigned bulk_blocks(const Params& p) { return std::min(static_cast<unsigned>(gpu_facts().sm_count), bulk_tiles(p)); }
/// Tiles in `kilobytes`, at least one.
int tiles_in(std::int64_t kilobytes, const Params& p) {
  return std::max(static_cast<int>(kilobytes * 1024 / (tile_of(p) * 4)), 1);
}
int slots_of(const Params& p) { return std::min(tiles_in(p.at("ring"), p), kMostSlots); }
std::size_t shared_bytes(const Params& p) { return std::size_t{4} * slots_of(p) * tile_of(p) + 3 * 8 * kMostSlots; }

__device__ __forceinline__ Word word_of(unsigned run, reg<float> sum) { return Word{run} << 32 | __float_as_uint(sum); }

struct Arrays {
  const mem<float>* x;
  mem<float>* y;
  volatile mem<Word>* words;  ///< of the tiles
  mem<Word>* tickets;         ///< one for each block of each run
  int n, tiles, slots;
  int flying;      ///< tiles in flight to a block, at most
  int prefetched;  ///< how many tiles ahead of the loaded one L2 fetches a tile
  int lag;         ///< tiles that must have arrived after the one whose words are read
};

/// A warp's place in the ring, and the barriers of its slot. Every warp goes through all slots.
struct Place {
  std::uint32_t barriers;
  int slots, slot = 0;
  std::uint32_t parity = 0;

  /// The tile has arrived.
  __device__ __forceinline__ std::uint32_t full() const { return barriers + slot * 8; }
  /// The sums before the tile are known.
  __device__ __forceinline__ std::uint32_t known() const { return barriers + (kMostSlots + slot) * 8; }
  /// No warp needs the slot any longer.
  __device__ __forceinline__ std::uint32_t empty() const { return barriers + (2 * kMostSlots + slot) * 8; }
  __device__ __forceinline__ void next() {
    if (++slot == slots) slot = 0, parity ^= 1;
  }
};

/// What the warps of a block share about the tile in each slot.
struct Slots {
  mem<float> between[kMostSlots];                 ///< the sum of the tiles since the block's previous one
  mem<float> before_part[kMostSlots][kScanners];  ///< the sum of the tile's elements before each scanner's part
  mem<unsigned> run;
};

/// How many tiles this block takes.
__device__ __forceinline__ int turns_of(const Arrays& a) {
  return (a.tiles - static_cast<int>(blockIdx.x) + static_cast<int>(gridDim.x) - 1) / static_cast<int>(gridDim.x);
}
__device__ __forceinline__ int tile_in(int turn) { return turn * static_cast<int>(gridDim.x) + blockIdx.x; }

/// One lane arrives for the warp when all its lanes are done with what the barrier guards.
__device__ __forceinline__ void arrive(std::uint32_t barrier) {
  __syncwarp();
  if (lane_index() == 0) hopper::barrier_arrive(barrier);
}

/// Has the block's tiles copied. Copies in bulk take multiples of 16 bytes: the last elements of the array, and zeros
/// up to the end of the tile, are stored by the warp.
template <int Tile>
__device__ __forceinline__ void load_tiles(const Arrays& a, mem<float>* ring, Place place) {
  const int lane = lane_index(), turns = turns_of(a);
  Place arrived = place;  // the last tile that has arrived for certain
#pragma unroll 1
  for (int turn = 0; turn < turns; ++turn, place.next()) {
    hopper::barrier_wait(place.empty(), place.parity ^ 1);  // a new slot is empty
    if (turn >= a.flying) {
      hopper::barrier_wait(arrived.full(), arrived.parity);
      arrived.next();
    }
    const int tile = tile_in(turn);
    mem<float>* const to = ring + place.slot * Tile;
    const mem<float>* const from = a.x + std::int64_t{tile} * Tile;
    const int left = a.n - tile * Tile, copied = left < Tile ? left / 4 * 4 : Tile;
    for (int i = copied + lane; i < Tile; i += 32) to[i] = i < left ? from[i] : 0.0f;
    __syncwarp();
    if (lane == 0) {
      hopper::barrier_expect(place.full(), copied * 4);
      if (copied > 0) hopper::bulk_load(hopper::shared_address(to), from, copied * 4, place.full());
      const int later = tile_in(turn + a.prefetched);
      if (a.prefetched != 0 && (later + 1) * std::int64_t{Tile} <= a.n)
        hopper::bulk_prefetch(a.x + std::int64_t{later} * Tile, Tile * 4);
    }
  }
}

/// Calls use(turn) for each of the block's tiles once it has arrived, then releases it. Every warp except the loader
/// goes through all tiles, also those that other warps process: a warp that skipped a slot would take its next tile for
/// this one.
template <typename Use>
__device__ __forceinline__ void for_each_turn(const Arrays& a, Place& place, const Use& use) {
  const int turns = turns_of(a);
#pragma unroll 1
  for (int turn = 0; turn < turns; ++turn, place.next()) {
    hopper::barrier_wait(place.full(), place.parity);
    use(turn);
    arrive(place.empty());
  }
}

/// Adds up every kAdders-th tile of the block and publishes its sum.
template <int Tile>
__device__ __forceinline__ void add_tiles(const Arrays& a, Slots& slots, const mem<float>* ring, Place place,
                                          int adder) {
  constexpr int kRows = Tile / kScanners / kRow;
  const int lane = lane_index();
  for_each_turn(
      a, place, [&](int turn) __attribute__((always_inline)) {
        if (turn % kAdders != adder) return;
        const mem<float4>* const own = vector_cast<float4>(ring + place.slot * Tile) + lane;
        reg<float> parts[kScanners];
#pragma unroll
        for (int part = 0; part < kScanners; ++part) {
          parts[part] = 0;
#pragma unroll
          for (int row = 0; row < kRows; ++row) {
            const float4 v = own[(part * kRows + row) * 32];
            parts[part] += (v.x + v.y) + (v.z + v.w);
          }
        }
#pragma unroll
        for (int part = 0; part < kScanners; ++part) parts[part] = warp_total(parts[part]);
        reg<float> sum = 0;
#pragma unroll
        for (int part = 0; part < kScanners; ++part) {
          if (lane == 0) slots.before_part[place.slot][part] = sum;
          sum += parts[part];
        }
        if (lane == 0) a.words[tile_in(turn)] = word_of(slots.run, sum);
        arrive(place.known());
      });
}

/// The sum of tiles `first` to `last` - 1, once all are published, in lane 0. Each lane adds every 32nd tile's sum.
__device__ __forceinline__ reg<float> sum_between(const Arrays& a, int first, int last, unsigned run) {
  constexpr int kAtOnce = 5;  // words of a lane, for up to 160 blocks
  reg<float> sum = 0;
#pragma unroll 1
  for (int tile = first + lane_index(); __any_sync(kAllLanes, tile < last); tile += kAtOnce * 32) {
    Word seen[kAtOnce];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i)
      seen[i] = tile + i * 32 >= 0 && tile + i * 32 < last ? Word{0} : word_of(run, 0.0f);
    const auto is_told = [&](int i) { return static_cast<unsigned>(seen[i] >> 32) == run; };
    for (;;) {  // all missing words are read at once
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i)
        if (!is_told(i)) seen[i] = a.words[tile + i * 32];
      bool complete = true;
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) complete = complete && is_told(i);
      if (__all_sync(kAllLanes, complete)) break;
      __nanosleep(kBackOff);
    }
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) sum += __uint_as_float(static_cast<unsigned>(seen[i]));
  }
  return warp_total(sum);
}

/// For every kLookers-th tile of the block, finds the sum of the tiles since the block's previous one.
__device__ __forceinline__ void look_between(const Arrays& a, Slots& slots, Place place, int looker) {
  const int turns = turns_of(a);
  Place later = place;  // the tile that has to arrive first
  int later_turn = 0;
  for_each_turn(
      a, place, [&](int turn) __attribute__((always_inline)) {
        for (; later_turn < min(turn + a.lag, turns - 1); ++later_turn) later.next();
        if (turn % kLookers != looker) return;
        hopper::barrier_wait(later.full(), later.parity);
        const reg<float> sum = sum_between(a, tile_in(turn - 1), tile_in(turn), slots.run);
        if (lane_index() == 0) slots.between[place.slot] = sum;
        arrive(place.known());
      });
}

/// Scans the scanner's part of each tile. The slot is empty once all have their parts in registers.
template <int Tile>
__device__ __forceinline__ void scan_tiles(const Arrays& a, const Slots& slots, const mem<float>* ring, Place place,
                                           int scanner) {
  constexpr int kPart = Tile / kScanners, kRows = kPart / kRow;
  reg<float> before = 0;  // the tile
  const int turns = turns_of(a);
#pragma unroll 1
  for (int turn = 0; turn < turns; ++turn, place.next()) {
    hopper::barrier_wait(place.known(), place.parity);
    const mem<float>* const own = ring + place.slot * Tile + scanner * kPart + 4 * lane_index();
    Part<kRows> part;
#pragma unroll
    for (int row = 0; row < kRows; ++row) part.rows[row] = *vector_cast<float4>(own + row * kRow);
    before += slots.between[place.slot];
    const reg<float> base = before + slots.before_part[place.slot][scanner];
    arrive(place.empty());
    part.scan();
    part.store(a.y, tile_in(turn) * Tile + scanner * kPart, a.n, base);
  }
}

template <int Tile>
__global__ void __launch_bounds__(kThreads, 1) scan_bulk(const Arrays a) {
  __shared__ Slots slots;
  mem<float>* const ring = dynamic_shared<mem<float>>();
  const Place place{.barriers = hopper::shared_address(ring + a.slots * Tile), .slots = a.slots};
  if (threadIdx.x == 0) {
    Place each = place;
    for (int i = 0; i < a.slots; ++i, each.next()) {
      hopper::barrier_init(each.full(), 1);
      hopper::barrier_init(each.known(), 2);
      hopper::barrier_init(each.empty(), kAdders + kLookers + kScanners);
    }
    hopper::publish_barriers();
    // The number of this run; 0 is what words hold before the first.
    slots.run = static_cast<unsigned>(atomicAdd(a.tickets, Word{1}) / gridDim.x) + 1;
  }
  __syncthreads();  // the barriers are there
  const int warp = __shfl_sync(kAllLanes, warp_index(), 0);
  if (warp == 0)
    load_tiles<Tile>(a, ring, place);
  else if (warp < kFirstLooker)
    add_tiles<Tile>(a, slots, ring, place, warp - 1);
  else if (warp < kFirstScanner)
    look_between(a, slots, place, warp - kFirstLooker);
  else
    scan_tiles<Tile>(a, slots, ring, place, warp - kFirstScanner);
}

const bool added = add_gpu_kernel({
    .name = "gpu/prefix_sum/bulk",
    .order = 60,
    .title = "copies in bulk",
    .idea = "Tiles arrive by bulk copies in a deep ring; specialised warps load, add, look at other blocks' sums and "
            "scan, synchronise by mbarriers only, and read sums when nearly all are published.",
    .source = {{"merrill2016"}, {"yan2013"}, {"ptx-isa", "cp.async.bulk"}, {"cutlass", "warp specialisation"}},
    .tunables = {{"tile", TileElements::values()},
                 {"ring", RingKilobytes::values()},
                 {"flying", {64, 32, 128, 208}},
                 {"lag", {3, 0, 1, 2}},
                 {"prefetch", {32, 0, 64, 128}}},
    .scratch =
        [](const Params& p) {
          const auto zeroed = [](const char* name, std::size_t count) {
            return Operand{
                .name = name, .elements = 2 * count, .type = Type::uint32, .role = Role::scratch, .is_zeroed = true};
          };
          return std::vector{zeroed("words", bulk_tiles(p)), zeroed("tickets", 1)};
        },
    .gpu =
        {
            .min_compute_capability = 90,
            .launch =
                [](const Params& p) {
                  return Launch{{bulk_blocks(p)}, {kThreads}, shared_bytes(p)};
                },
            .requested =
                [](const Params& p) {  // where no warp waits, a word is read once
                  const double n = 4.0 * p.at("n"), tiles = bulk_tiles(p), blocks = bulk_blocks(p);
                  const double seen = blocks * (blocks - 1) / 2 + blocks * (tiles - blocks);  // words
                  return Traffic{.loaded = n + 8 * seen, .stored = n + 8 * (tiles + blocks)};
                },
        },
    .run =
        [](const Call& call) {
          const Params& p = call.params;
          const int slots = slots_of(p);
          const Arrays arrays{.x = call.operand<const mem<float>>(0),
                              .y = call.operand<mem<float>>(1),
                              .words = call.operand<mem<Word>>(2),
                              .tickets = call.operand<mem<Word>>(3),
                              .n = static_cast<int>(p.at("n")),
                              .tiles = static_cast<int>(bulk_tiles(p)),
                              .slots = slots,
                              .flying = std::min(tiles_in(p.at("flying"), p), slots),
                              .prefetched = static_cast<int>(p.at("prefetch") * 1024 / (tile_of(p) * 4)),
                              .lag = std::min(static_cast<int>(p.at("lag")), slots - 1)};
          TileElements::pick(tile_of(p), [&](auto tile) { launch_together(call, scan_bulk<tile>, arrays); });
        },
});

}  // namespace
}  // namespace rung
