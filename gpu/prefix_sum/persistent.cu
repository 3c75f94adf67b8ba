/// One pass by persistent blocks. The grid has G blocks, the number that the GPU holds at once, and each takes every
/// G-th tile. A block publishes the sum of its next tile while it still works on the present one. So it need not look
/// back to the beginning: it keeps the sum before its previous tile and adds the sums of the G tiles since then, which
/// were published while it was busy. Tiles arrive in a ring in shared memory by asynchronous copies, so that loads
/// never wait for sums; each thread reads only what it has copied itself.
///
/// Floor: 8 bytes per element through DRAM, at the rate of a copy. Shared memory, shuffles and the one barrier of a
/// tile take less time than its bytes, and the G words that a block reads for a tile are few next to its elements. Each
/// multiprocessor needs enough bytes in flight to cover DRAM's latency at that rate (Little's law).
/// Tiles have the length that makes the rounds come out even: of 2^26 elements in 264 blocks, tiles of 64 rows would
/// leave nearly all blocks idle in the last of 32 rounds.
///
/// A word holds a tile's sum and the number of the run, 64 bits that are read and written in one access; see
/// look_back.cu. Which sums are added, and in which order, depends only on n and the GPU: every run gives the same
/// bits.
/// Blocks wait for later blocks, so all must be resident: the launch is cooperative, and refused where they do not fit.
/// There is no deadlock: a block publishes the sums of its tiles up to round t + lead once it has the sums it needs for
/// round t, and for round t it needs sums of round t at most.
/// Source: Merrill and Garland, Single-pass Parallel Prefix Scan with Decoupled Look-back, 2016 (one pass); Yan, Long
/// and Zhang, StreamScan, 2013 (sums passed between resident blocks).
#include "common/machine/device_facts.hpp"
#include "gpu/prefix_sum/tile.hpp"
#include "gpu/simt/launch_together.hpp"

namespace rung {
namespace {

using Word = unsigned long long;

using PersistentThreads = Choices<1024, 512, 256>;
using PersistentItems = Choices<16, 8, 32>;
using Stages = Choices<3, 6>;  // tiles in the ring

constexpr std::size_t kMostShared = std::size_t{227} << 10;  // of a block
constexpr std::size_t kReserved = 1024;                      // of each block, by the system
constexpr std::size_t kSums = 1024;                          // more than the sums of the warps take

/// How many rounds ahead a block publishes its sums. Later tiles of the ring are still in flight.
__host__ __device__ constexpr int lead_of(int stages) { return stages < 6 ? 1 : 2; }

/// The constants that a kernel is compiled for.
struct Shape {
  int threads, items, stages;

  constexpr std::size_t ring_bytes() const { return sizeof(float) * threads * items * stages; }
  constexpr bool fits() const { return ring_bytes() + kSums <= kMostShared; }
  /// How many blocks are resident, with 64 registers per thread, where a block can have `shared` bytes at most.
  constexpr int resident_blocks(std::size_t shared) const {
    const int by_shared = static_cast<int>((shared + kReserved) / (ring_bytes() + kSums + kReserved));
    return by_shared < 1024 / threads ? by_shared : 1024 / threads;
  }
};

Shape shape_of(const Params& p) {
  return {static_cast<int>(p.at("threads")), static_cast<int>(p.at("items")), static_cast<int>(p.at("stages"))};
}

/// The largest block whose ring of 3 tiles, 16 items per thread, fits into a block's shared memory on this GPU. One
/// large block per multiprocessor is faster than two of half the size: it has half as many sums to read.
std::int64_t preferred_threads() {
  for (const int threads : {1024, 512})
    if (Shape{threads, 16, 3}.ring_bytes() + kSums <= gpu_facts().shared_bytes_per_block) return threads;
  return 256;
}

/// How the array is cut: `count` tiles of `rows` rows of 128 elements, which the warps of a block share.
struct Tiles {
  int n = 0, rows = 0, count = 0;
};

/// The blocks that the GPU holds at once. Where not even one fits, the launch is refused.
int most_blocks(const Params& p) {
  const DeviceFacts gpu = gpu_facts();
  return gpu.sm_count * std::max(shape_of(p).resident_blocks(gpu.shared_bytes_per_block), 1);
}

/// The fewest rounds that the longest tile allows, then the shortest tile for them, with at least one row per warp.
Tiles tiles_in_turns(const Params& p) {
  const Shape shape = shape_of(p);
  const std::int64_t all = blocks_for(p.at("n"), kRow), blocks = most_blocks(p);
  const std::int64_t turns = blocks_for(all, blocks * shape.threads * shape.items / kRow);
  Tiles tiles{.n = static_cast<int>(p.at("n"))};
  tiles.rows = std::max(static_cast<int>(blocks_for(all, blocks * turns)), shape.threads / 32);
  tiles.count = static_cast<int>(blocks_for(all, tiles.rows));
  return tiles;
}

int blocks_of(const Params& p) { return std::min(most_blocks(p), tiles_in_turns(p).count); }

__device__ __forceinline__ Word word_of(unsigned run, reg<float> sum) { return Word{run} << 32 | __float_as_uint(sum); }

/// The sum in `word`, once it belongs to this run. `seen`: the value that was read before.
__device__ __forceinline__ reg<float> await_sum(const volatile mem<Word>* word, Word seen, unsigned run) {
  while (static_cast<unsigned>(seen >> 32) != run) {
    __nanosleep(20);
    seen = *word;
  }
  return __uint_as_float(static_cast<unsigned>(seen));
}

/// Copies a thread's four elements to its place in shared memory; zeros beyond n.
__device__ __forceinline__ void fetch_end(const mem<float>* x, mem<float>* to, int i, int n) {
  if (i + 4 <= n) {
    __pipeline_memcpy_async(to, x + i, 16);
  } else {
    const reg<float> a = i < n ? x[i] : 0.0f, b = i + 1 < n ? x[i + 1] : 0.0f, c = i + 2 < n ? x[i + 2] : 0.0f;
    *vector_cast<float4>(to) = make_float4(a, b, c, 0);
  }
}

/// Stores those of four elements that are before n.
__device__ __forceinline__ void put_end(mem<float>* y, int i, int n, const float4& v) {
  if (i < n) y[i] = v.x;
  if (i + 1 < n) y[i + 1] = v.y;
  if (i + 2 < n) y[i + 2] = v.z;
  if (i + 3 < n) y[i + 3] = v.w;
}

template <int Threads, int Rows, int Stages>
__global__ void __launch_bounds__(Threads, Shape{Threads, 4 * Rows, Stages}.resident_blocks(kMostShared))
    scan_persistent(const mem<float>* x, mem<float>* y, volatile mem<Word>* words, mem<Word>* tickets, Tiles tiles,
                    bool streams) {
  constexpr int kWarps = Threads / 32, kLead = lead_of(Stages);
  // A warp may be a round ahead of the others, up to the next barrier: hence one more slot than rounds in use.
  __shared__ mem<float> warp_sums[kLead + 2][kWarps];  // of the present tile and of tiles published ahead
  __shared__ mem<float> between_sums[2][kWarps];       // each warp's share of the tiles in between
  __shared__ mem<unsigned> run_of_block;
  const int lane = lane_index(), warp = warp_index(), thread = threadIdx.x;
  const int blocks = gridDim.x, block = blockIdx.x;

  // The warp's rows of a tile, and the thread's place in the first of them.
  const int first_row = warp * tiles.rows / kWarps, rows = (warp + 1) * tiles.rows / kWarps - first_row;
  const int own = first_row * kRow + 4 * lane, tile_elements = tiles.rows * kRow;
  mem<float>* const ring = dynamic_shared<mem<float>>() + warp * (Rows * kRow) + 4 * lane;
  const auto slot_of = [&](int turn) { return ring + turn % Stages * (Threads * Rows * 4); };

  const auto fetch = [&](int turn) __attribute__((always_inline)) {
    const int tile = turn * blocks + block, i = tile * tile_elements + own;
    mem<float>* const to = slot_of(turn);
    if ((tile + 1) * std::int64_t{tile_elements} <= tiles.n) {
#pragma unroll
      for (int row = 0; row < Rows; ++row)
        if (row < rows) __pipeline_memcpy_async(to + row * kRow, x + i + row * kRow, 16);
    } else if (tile < tiles.count) {
#pragma unroll 1
      for (int row = 0; row < rows; ++row) fetch_end(x, to + row * kRow, i + row * kRow, tiles.n);
    }
    __pipeline_commit();
  };
  const auto load = [&](int turn, float4(&part)[Rows]) __attribute__((always_inline)) {
    const mem<float>* const from = slot_of(turn);
#pragma unroll
    for (int row = 0; row < Rows; ++row)
      part[row] = row < rows ? static_cast<float4>(*vector_cast<float4>(from + row * kRow)) : make_float4(0, 0, 0, 0);
  };
  const auto has_tile = [&](int turn) { return turn * blocks + block < tiles.count; };
  // Of the tiles from the block's previous one to the present, each thread reads one, or every Threads-th.
  const auto other_tile = [&](int turn) { return (turn - 1) * blocks + block + thread; };
  const auto reads = [&](int turn) { return turn >= 0 && has_tile(turn) && thread < blocks && other_tile(turn) >= 0; };

#pragma unroll 1
  for (int turn = 0; turn < Stages - kLead; ++turn) fetch(turn);
  // The number of this run; 0 is what words hold before the first.
  if (thread == 0) run_of_block = static_cast<unsigned>(atomicAdd(&tickets[0], Word{1}) / gridDim.x) + 1;

  reg<float> before = 0;  // the sum of all tiles before the present one
  Word seen = 0;
#pragma unroll 1
  for (int turn = -kLead; has_tile(turn); ++turn) {
    mem<float>* const told_sums = warp_sums[(turn + kLead) % (kLead + 2)];
    mem<float>* const between = between_sums[turn & 1];
    __pipeline_wait_prior(Stages - 1 - kLead);  // the tile to be added up has arrived
    if (has_tile(turn + kLead)) {
      Part<Rows> part;
      load(turn + kLead, part.rows);
      const reg<float> sum = part.total();
      if (lane == 0) told_sums[warp] = sum;
    }
    if (turn >= 0) {
      const unsigned run = run_of_block;
      reg<float> sum = 0;
      if (reads(turn)) sum = await_sum(words + other_tile(turn), seen, run);
      for (int i = thread + Threads; i < blocks; i += Threads) {
        const int other = (turn - 1) * blocks + block + i;
        if (other >= 0) sum += await_sum(words + other, words[other], run);
      }
      sum = warp_total(sum);
      if (lane == 0) between[warp] = sum;
    }
    __syncthreads();  // the sums of all warps are there

    if (warp == 0 && has_tile(turn + kLead)) {
      const reg<float> sum = warp_total(lane < kWarps ? told_sums[lane] : 0.0f);
      if (lane == 0) words[(turn + kLead) * blocks + block] = word_of(run_of_block, sum);
    }
    if (turn < 0) {
      fetch(turn + Stages);
    } else {
      before += warp_total(lane < kWarps ? between[lane] : 0.0f);
      const reg<float> left = warp_total(lane < warp ? warp_sums[turn % (kLead + 2)][lane] : 0.0f);
      Part<Rows> part;
      load(turn, part.rows);
      part.scan();
      fetch(turn + Stages);  // into the slot that has just been read
      const int tile = turn * blocks + block, i = tile * tile_elements + own;
      const bool is_whole = (tile + 1) * std::int64_t{tile_elements} <= tiles.n;
#pragma unroll
      for (int row = 0; row < Rows; ++row) {
        const reg<float> sum = before + left + part.before[row];
        const float4 v = part.rows[row];
        const float4 scanned = make_float4(sum + v.x, sum + v.y, sum + v.z, sum + v.w);
        mem<float4>* const to = vector_cast<float4>(y + i + row * kRow);
        if (row >= rows) continue;
        if (!is_whole)
          put_end(y, i + row * kRow, tiles.n, scanned);
        else if (streams)
          __stcs(to, scanned);
        else
          *to = scanned;
      }
    }
    // By now most sums are published; the load is in flight while the block waits for copies.
    if (reads(turn + 1)) seen = words[other_tile(turn + 1)];
  }
}

/// Calls run(threads, items, stages) with the tunables as constants.
template <typename Run>
void with_shape(const Params& p, const Run& run) {
  PersistentThreads::pick(p.at("threads"), [&](auto threads) {
    PersistentItems::pick(p.at("items"), [&](auto items) {
      Stages::pick(p.at("stages"), [&](auto stages) { run(threads, items, stages); });
    });
  });
}

const bool added = add_gpu_kernel({
    .name = "gpu/prefix_sum/persistent",
    .order = 50,
    .title = "persistent",
    .idea = "The GPU's resident blocks share the tiles; each publishes the sums of its next tiles early and adds the "
            "published sums of the others, so that no block looks back.",
    .source = {{"merrill2016"}, {"yan2013"}},
    .tunables = {{"threads", PersistentThreads::values(), preferred_threads},
                 {"items", PersistentItems::values()},
                 {"stages", Stages::values()},
                 {"stores", words({"streaming", "ordinary"})}},
    .refuse = [](const Params& p) -> std::string {
      return shape_of(p).fits() ? "" : "the tiles of the ring are larger than the shared memory of any block";
    },
    .scratch =
        [](const Params& p) {
          const auto zeroed = [](const char* name, std::size_t count) {
            return Operand{
                .name = name, .elements = 2 * count, .type = Type::uint32, .role = Role::scratch, .is_zeroed = true};
          };
          return std::vector{zeroed("words", tiles_in_turns(p).count), zeroed("tickets", 1)};
        },
    .gpu =
        {
            .min_compute_capability = 80,
            .launch =
                [](const Params& p) {
                  const Shape shape = shape_of(p);
                  return Launch{{static_cast<unsigned>(blocks_of(p))},
                                {static_cast<unsigned>(shape.threads)},
                                shape.ring_bytes()};
                },
            .requested =
                [](const Params& p) {  // where no block waits, a word is read once
                  const double n = 4.0 * p.at("n"), tiles = tiles_in_turns(p).count, blocks = blocks_of(p);
                  const double seen = blocks * (blocks - 1) / 2 + blocks * (tiles - blocks);  // words
                  return Traffic{.loaded = n + 8 * seen, .stored = n + 8 * (tiles + blocks)};
                },
        },
    .run =
        [](const Call& call) {
          with_shape(call.params, [&](auto threads, auto items, auto stages) {
            if constexpr (Shape{threads, items, stages}.fits())
              launch_together(call, scan_persistent<threads, items / 4, stages>, call.operand<const mem<float>>(0),
                              call.operand<mem<float>>(1), call.operand<mem<Word>>(2), call.operand<mem<Word>>(3),
                              tiles_in_turns(call.params), call.params.at("stores") == 0);
          });
        },
});

}  // namespace
}  // namespace rung
