/// One pass by blocks whose warps have a task each. A block a multiprocessor stays; its warps meet at mbarriers alone,
/// three for each slot of a ring in shared memory:
///  - one warp takes tiles, the next that nobody has, and has each copied in bulk into the ring;
///  - two add up tiles as soon as they are there, and tell the sums;
///  - four find the sum of all before a tile: they add what others have told;
///  - eight scan a tile, an eighth each, and have it copied in bulk to its place.
/// No load waits for a sum, no barrier stops all warps, and a slower multiprocessor may take fewer tiles. That is not
/// enough: an H200 reaches 0.72 of the rate of a copy at 2^26 elements, less than with blocks that have their tiles by
/// turns (persistent.cu). It depends on the ring: where threads store, 0.48 with 64 KB, 0.57 with 128, 0.72 with 208.
/// By Little's law a slot is taken for 9 to 19 us, so a tile mostly waits for those before it. The slowest of them
/// counts, and the likely reason why it is slow is that its multiprocessor has asked for many at once: `flying` is how
/// many may be on their way.
///
/// Floor: 8 bytes an element through DRAM, at the rate of a copy. A multiprocessor of an H200 has 1.05 us for a tile of
/// 4096 elements. At a latency of 1.2 us 19 KB must be on their way, and as many wait for 1.2 us that a tile waits; the
/// ring has 208 KB. Each row of 128 elements is written to shared memory, read twice, written back and read again, 4
/// cycles each, and takes 9 shuffles: 29 cycles of the 65 that DRAM needs for it. Every block reads what the others
/// tell, 8 bytes for each tile: 3 % of the bytes that go through L2.
///
/// Word: a tile's sum and the run it is of, 64 bits that are read and written whole; see look_back.cu. A block waits
/// only for tiles that were taken before its own, by blocks that run. Nobody waits in a circle: of all tiles whose sum
/// is not told, the first waits for a slot at most, and the tiles in those slots come before it and wait for none.
/// Which sums are added, and in which order, depends on the tile alone: each lane adds every 32nd, then the lanes are
/// added. So every run gives the same bits, whoever has which tile.
/// Source: Merrill and Garland, Single-pass Parallel Prefix Scan with Decoupled Look-back, 2016 (one pass; tiles in the
/// order in which they are asked for); NVIDIA PTX ISA 8.0 (cp.async.bulk, mbarrier); CUTLASS, warp specialisation.
#include "common/machine/device_facts.hpp"
#include "gpu/matmul/hopper_ptx.hpp"
#include "gpu/prefix_sum/tile.hpp"

namespace rung {
namespace {

using Word = unsigned long long;

using TileElements = Choices<4096, 2048, 8192>;
using RingKilobytes = Choices<208, 128, 64>;
enum Stores { bulk, streaming, ordinary };

// The warps of a block: the loader, then those that add, that look back, and that scan.
constexpr int kAdders = 2, kLookers = 4, kScanners = 8;
constexpr int kFirstLooker = 1 + kAdders, kFirstScanner = kFirstLooker + kLookers;
constexpr int kThreads = 32 * (kFirstScanner + kScanners);
constexpr int kMostSlots = 32;
constexpr int kTakenInVain = 2;  ///< tickets that a block has left at the end
constexpr int kNoTile = -1;

int tile_of(const Params& p) { return static_cast<int>(p.at("tile")); }
unsigned bulk_tiles(const Params& p) { return blocks_for(p.at("n"), tile_of(p)); }
unsigned bulk_blocks(const Params& p) { return std::min(static_cast<unsigned>(gpu_facts().sm_count), bulk_tiles(p)); }
int slots_of(const Params& p) { return std::min(static_cast<int>(p.at("ring") * 1024 / (tile_of(p) * 4)), kMostSlots); }
std::size_t shared_bytes(const Params& p) { return std::size_t{4} * slots_of(p) * tile_of(p) + 3 * 8 * kMostSlots; }

__device__ __forceinline__ Word word_of(unsigned run, reg<float> sum) { return Word{run} << 32 | __float_as_uint(sum); }

/// The sum in `word`, once it is of this run. `seen`: what was there before.
__device__ __forceinline__ reg<float> await_sum(const volatile mem<Word>* word, Word seen, unsigned run) {
  while (static_cast<unsigned>(seen >> 32) != run) seen = *word;
  return __uint_as_float(static_cast<unsigned>(seen));
}

struct Arrays {
  const mem<float>* x;
  mem<float>* y;
  volatile mem<Word>* words;     ///< of the tiles
  mem<unsigned>* tickets;        ///< how many are taken in this run
  volatile mem<unsigned>* runs;  ///< how many there were before
  int n, tiles, slots;
  int flying;  ///< tiles on their way to a block at most
};

/// A place in the ring, of which every warp goes through all, and the barriers of its slot.
struct Place {
  std::uint32_t barriers;
  int slots, slot = 0;
  std::uint32_t parity = 0;

  /// A tile is there, or word that there is none left.
  __device__ __forceinline__ std::uint32_t full() const { return barriers + slot * 8; }
  /// Everything before the tile is known.
  __device__ __forceinline__ std::uint32_t known() const { return barriers + (kMostSlots + slot) * 8; }
  /// Nobody needs the slot any longer.
  __device__ __forceinline__ std::uint32_t empty() const { return barriers + (2 * kMostSlots + slot) * 8; }
  __device__ __forceinline__ void next() {
    if (++slot == slots) slot = 0, parity ^= 1;
  }
};

/// What the warps of a block tell each other of the tile in each slot.
struct Slots {
  mem<int> tile[kMostSlots];
  mem<float> before_tile[kMostSlots];
  mem<float> before_part[kMostSlots][kScanners];  ///< within the tile: the sums of the scanners' parts before
  mem<float> groups[kLookers + 1][32];            ///< of the last tiles: the lanes' sums of complete groups before
  mem<unsigned> run;
};

/// One lane arrives for the warp, whose lanes are done with what the barrier guards.
__device__ __forceinline__ void arrive(std::uint32_t barrier) {
  __syncwarp();
  if (lane_index() == 0) hopper::barrier_arrive(barrier);
}

/// Takes tiles until none is left, two ahead of the loads: a ticket takes as long as a load. Copies in bulk take
/// multiples of 16 bytes: the last elements, and zeros up to the end of the tile, are stored by the warp.
template <int Tile>
__device__ __forceinline__ void load_tiles(const Arrays& a, Slots& slots, mem<float>* ring, Place place) {
  const int lane = lane_index();
  const unsigned last = a.tiles + kTakenInVain * gridDim.x - 1;  // ticket of this run: then they begin at 0 again
  const auto take = [&](unsigned& ticket) __attribute__((always_inline)) {
    if (lane == 0) ticket = atomicInc(a.tickets, last);
  };
  unsigned first = 0, second = 0;
  take(first);
  take(second);
  if (lane == 0) slots.run = *a.runs + 1;
  int flying = 0;         // tiles on their way, or known to have been
  Place arrived = place;  // the first of them
  const auto load = [&](unsigned& ticket) __attribute__((always_inline)) {
    const int tile = static_cast<int>(__shfl_sync(kAllLanes, ticket, 0));
    hopper::barrier_wait(place.empty(), place.parity ^ 1);  // a new slot is empty
    if (tile >= a.tiles) return false;
    take(ticket);
    if (flying == a.flying) {
      hopper::barrier_wait(arrived.full(), arrived.parity);
      arrived.next();
    } else {
      ++flying;
    }
    mem<float>* const to = ring + place.slot * Tile;
    const mem<float>* const from = a.x + std::int64_t{tile} * Tile;
    const int left = a.n - tile * Tile, copied = left < Tile ? left / 4 * 4 : Tile;
    for (int i = copied + lane; i < Tile; i += 32) to[i] = i < left ? from[i] : 0.0f;
    __syncwarp();
    if (lane == 0) {
      slots.tile[place.slot] = tile;
      hopper::barrier_expect(place.full(), copied * 4);
      if (copied > 0) hopper::bulk_load(hopper::shared_address(to), from, copied * 4, place.full());
    }
    place.next();
    return true;
  };
#pragma unroll 1
  while (load(first) && load(second)) {
  }
  if (lane == 0) {
    slots.tile[place.slot] = kNoTile;
    hopper::barrier_arrive(place.full());
    if (first == last || second == last) *a.runs = slots.run;
  }
}

/// Calls use(tile) for each tile of the block once it is there. For all warps but the loader.
template <typename Use>
__device__ __forceinline__ void for_each_tile(Slots& slots, Place& place, const Use& use) {
#pragma unroll 1
  for (;; place.next()) {
    hopper::barrier_wait(place.full(), place.parity);
    const int tile = slots.tile[place.slot];
    if (tile == kNoTile) return;
    use(tile);
  }
}

/// Adds up every kAdders-th tile and tells its sum.
template <int Tile>
__device__ __forceinline__ void add_tiles(const Arrays& a, Slots& slots, const mem<float>* ring, Place place,
                                          int adder) {
  const int lane = lane_index();
  int turn = 0;
  for_each_tile(
      slots, place, [&](int tile) __attribute__((always_inline)) {
        if (turn++ % kAdders == adder) {
          const mem<float4>* const own = vector_cast<float4>(ring + place.slot * Tile) + lane;
          reg<float> parts[kScanners];
#pragma unroll
          for (int part = 0; part < kScanners; ++part) {
            parts[part] = 0;
#pragma unroll
            for (int row = 0; row < Tile / kScanners / kRow; ++row) {
              const float4 v = own[part * (Tile / kScanners / 4) + row * 32];
              parts[part] += (v.x + v.y) + (v.z + v.w);
            }
          }
          reg<float> sum = 0;
#pragma unroll
          for (int part = 0; part < kScanners; ++part) parts[part] = warp_total(parts[part]);
#pragma unroll
          for (int part = 0; part < kScanners; ++part) {
            if (lane == 0) slots.before_part[place.slot][part] = sum;
            sum += parts[part];
          }
          if (lane == 0) a.words[tile] = word_of(slots.run, sum);
          arrive(place.known());
        }
        arrive(place.empty());
      });
}

/// Finds the sum of all before every kLookers-th tile. A lane adds the sums of the tiles lane, lane + 32, ... before
/// it, from where the looker of the block's tile before has come to: while that one is awaited, the words in between
/// arrive.
__device__ __forceinline__ void look_back(const Arrays& a, Slots& slots, Place place, int looker) {
  constexpr int kAtOnce = 8;  // groups of 32 words; from a block's tile to its next there are 4 or 5
  const int lane = lane_index();
  int turn = 0, known = 0;  // groups that the tile before has seen
  Place before = place;
  for_each_tile(
      slots, place, [&](int tile) __attribute__((always_inline)) {
        const int groups = tile / 32, own = groups * 32 + lane;
        if (turn % kLookers == looker) {
          const unsigned run = slots.run;
          const volatile mem<Word>* const words = a.words + known * 32 + lane;
          Word seen[kAtOnce];
#pragma unroll
          for (int i = 0; i < kAtOnce; ++i) seen[i] = known + i < groups ? Word(words[i * 32]) : Word{0};
          const Word seen_last = own < tile ? Word(a.words[own]) : Word{0};
          reg<float> sum = 0;
          if (turn > 0) {
            hopper::barrier_wait(before.known(), before.parity);
            sum = slots.groups[(turn - 1) % (kLookers + 1)][lane];
          }
#pragma unroll
          for (int i = 0; i < kAtOnce; ++i)
            if (known + i < groups) sum += await_sum(words + i * 32, seen[i], run);
#pragma unroll 1
          for (int i = kAtOnce; known + i < groups; ++i) sum += await_sum(words + i * 32, 0, run);
          slots.groups[turn % (kLookers + 1)][lane] = sum;
          if (own < tile) sum += await_sum(a.words + own, seen_last, run);
          sum = warp_total(sum);
          if (lane == 0) slots.before_tile[place.slot] = sum;
          arrive(place.known());
        }
        known = groups;
        before = place;
        ++turn;
        arrive(place.empty());
      });
}

/// Scans the scanner's part of each tile, and stores it: straight from registers, or into its place in the ring, from
/// where it is copied in bulk. A slot is empty when that copy has read it, which is awaited a tile later.
template <int Tile>
__device__ __forceinline__ void scan_tiles(const Arrays& a, Slots& slots, mem<float>* ring, Place place, int scanner,
                                           int stores) {
  constexpr int kPart = Tile / kScanners, kRows = kPart / kRow;
  const int lane = lane_index();
  std::uint32_t pending = 0;  // in lane 0: the slot that a copy may still read
  for_each_tile(
      slots, place, [&](int tile) __attribute__((always_inline)) {
        mem<float>* const own = ring + place.slot * Tile + scanner * kPart + 4 * lane;
        Part<kRows> part;
#pragma unroll
        for (int row = 0; row < kRows; ++row) part.rows[row] = *vector_cast<float4>(own + row * kRow);
        part.scan();
        hopper::barrier_wait(place.known(), place.parity);
        const reg<float> base = slots.before_tile[place.slot] + slots.before_part[place.slot][scanner];
        const int first = tile * Tile + scanner * kPart;
        const bool is_whole = (tile + 1) * std::int64_t{Tile} <= a.n;
        if (stores != Stores::bulk || !is_whole) {
          arrive(place.empty());
          if (pending != 0) {
            hopper::tma_store_wait<0>();
            hopper::barrier_arrive(pending);
            pending = 0;
          }
          if (!is_whole || stores == Stores::ordinary) return part.store(a.y, first, a.n, base);
        }
#pragma unroll
        for (int row = 0; row < kRows; ++row) {
          const float4& v = part.rows[row];
          const reg<float> sum = base + part.before[row];
          const float4 scanned = make_float4(sum + v.x, sum + v.y, sum + v.z, sum + v.w);
          if (stores == Stores::bulk)
            *vector_cast<float4>(own + row * kRow) = scanned;
          else
            __stcs(vector_cast<float4>(a.y + first + 4 * lane + row * kRow), scanned);
        }
        if (stores != Stores::bulk) return;
        hopper::publish_to_tma();
        __syncwarp();
        if (lane == 0) {
          hopper::bulk_store(a.y + first, hopper::shared_address(own), kPart * 4);
          hopper::tma_store_wait<1>();
          if (pending != 0) hopper::barrier_arrive(pending);
          pending = place.empty();
        }
      });
  if (stores == Stores::bulk && lane == 0) hopper::tma_store_wait<0>();
}

template <int Tile>
__global__ void __launch_bounds__(kThreads, 1) scan_bulk(const Arrays a, int stores) {
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
  }
  __syncthreads();  // the barriers are there
  const int warp = __shfl_sync(kAllLanes, warp_index(), 0);
  if (warp == 0)
    load_tiles<Tile>(a, slots, ring, place);
  else if (warp < kFirstLooker)
    add_tiles<Tile>(a, slots, ring, place, warp - 1);
  else if (warp < kFirstScanner)
    look_back(a, slots, place, warp - kFirstLooker);
  else
    scan_tiles<Tile>(a, slots, ring, place, warp - kFirstScanner, stores);
}

const bool added = add_gpu_kernel({
    .name = "gpu/prefix_sum/bulk",
    .order = 60,
    .title = "copies in bulk",
    .idea = "Tiles come by copies in bulk into a deep ring; warps that load, add, look back and scan meet at mbarriers "
            "alone, so that no load waits for a sum.",
    .source = {{"merrill2016"}, {"ptx-isa", "cp.async.bulk"}, {"cutlass", "warp specialisation"}},
    .tunables = {{"tile", TileElements::values()},
                 {"ring", RingKilobytes::values()},
                 {"flying", {kMostSlots, 2, 4, 8}},
                 {"output", words({"in_bulk", "streaming", "ordinary"})}},
    .scratch =
        [](const Params& p) {
          const auto zeroed = [](const char* name, std::size_t count) {
            return Operand{
                .name = name, .elements = 2 * count, .type = Type::uint32, .role = Role::scratch, .is_zeroed = true};
          };
          return std::vector{zeroed("words", bulk_tiles(p)), zeroed("counters", 1)};
        },
    .gpu =
        {
            .min_compute_capability = 90,
            .blocks_wait = true,
            .launch =
                [](const Params& p) {
                  return Launch{{bulk_blocks(p)}, {kThreads}, shared_bytes(p)};
                },
            .requested =
                [](const Params& p) {  // as if one block had all tiles: each other one reads the words again
                  const int tiles = static_cast<int>(bulk_tiles(p));
                  double seen = (tiles - 1) / 32 * 32;  // words
                  for (int tile = 0; tile < tiles; ++tile) seen += tile % 32;
                  const double n = 4.0 * p.at("n"), blocks = bulk_blocks(p);
                  const double tickets = tiles + kTakenInVain * blocks;
                  return Traffic{.loaded = n + 8 * seen + 4 * blocks, .stored = n + 8.0 * tiles + 4 * (tickets + 1)};
                },
        },
    .run =
        [](const Call& call) {
          const Params& p = call.params;
          const Arrays arrays{.x = call.operand<const mem<float>>(0),
                              .y = call.operand<mem<float>>(1),
                              .words = call.operand<mem<Word>>(2),
                              .tickets = call.operand<mem<unsigned>>(3),
                              .runs = call.operand<mem<unsigned>>(3) + 1,
                              .n = static_cast<int>(p.at("n")),
                              .tiles = static_cast<int>(bulk_tiles(p)),
                              .slots = slots_of(p),
                              .flying = std::min(static_cast<int>(p.at("flying")), slots_of(p))};
          TileElements::pick(
              tile_of(p), [&](auto tile) { launch(call, scan_bulk<tile>, arrays, static_cast<int>(p.at("output"))); });
        },
});

}  // namespace
}  // namespace rung
