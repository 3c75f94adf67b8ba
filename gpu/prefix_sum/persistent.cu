/// One pass by blocks that stay. As many blocks run as the GPU holds at once, G, and each takes every G-th tile. It
/// tells the others the sum of its next tiles while it still works on the present one. So a block need not look back
/// until somebody knows everything: it carries the sum before its last tile and adds those of the G tiles in between,
/// which were told while it was busy. Tiles arrive in a ring in shared memory by asynchronous copies, so that loads
/// never wait for sums; each thread reads only what it has copied itself.
///
/// Floor: 8 bytes an element through DRAM, at the rate of a copy. A multiprocessor of an H200 has 2.1 us for 8192
/// elements. A tile of as many takes about 0.7 us of shared memory and shuffles in that time, and one barrier; its
/// block reads the G words of the tiles in between, 2 KB of 64. Bytes on their way: 32 to 64 KB a multiprocessor and
/// block, of the 31 KB that the rate of a copy takes at a latency of 1 us.
/// Tiles are as long as makes the turns come out even: of 2^26 elements in 264 blocks, tiles of 64 rows would leave
/// nearly all blocks idle in the last of 32 turns; of 63 rows, few.
///
/// Word: a tile's sum and the run it is of, 64 bits that are read and written whole; see look_back.cu. Which sums are
/// added, and in which order, depends on n and the GPU alone: every run gives the same bits.
/// Blocks wait for later ones, so all must be on the GPU: the launch is cooperative, and refused where they do not fit.
/// Nobody waits in a circle: a block tells the sums of its tiles up to turn t + lead once it has those it needs for
/// turn t, and for turn t it needs others' of turn t at most.
#include "gpu/device_facts.hpp"
#include "gpu/prefix_sum/tile.hpp"
#include "gpu/simt/launch_together.hpp"

namespace rung {
namespace {

using Word = unsigned long long;

using PersistentThreads = Choices<512, 256, 1024>;
using PersistentItems = Choices<16, 8>;
using Stages = Choices<3, 6, 4>;  // tiles in the ring

constexpr std::size_t kMostShared = std::size_t{227} << 10;           // of a block
constexpr std::size_t kSharedPerMultiprocessor = kMostShared + 1024;  // and each block takes 1 KB for itself

/// How many tiles ahead a block tells its sums. The tiles of the ring beyond that are still on their way.
__host__ __device__ constexpr int lead_of(int stages) { return stages < 6 ? 1 : 2; }

/// The sums of the warps, in static shared memory, are less than 1 KB.
__host__ __device__ constexpr std::size_t ring_bytes(int threads, int items, int stages) {
  return sizeof(float) * threads * items * stages;
}

/// Blocks of a multiprocessor: as many as its shared memory and 64 registers for each thread allow.
__host__ __device__ constexpr int blocks_per_multiprocessor(int threads, int items, int stages) {
  const int by_shared = static_cast<int>(kSharedPerMultiprocessor / (ring_bytes(threads, items, stages) + 2048));
  const int by_threads = 1024 / threads;
  return by_shared < by_threads ? by_shared : by_threads;
}

/// How the array is cut into tiles of so many rows of 128 elements, of which each warp has its share.
struct Tiles {
  int n = 0, rows = 0, count = 0;
};

Tiles tiles_of_rows(const Params& p) {
  const int threads = static_cast<int>(p.at("threads")), items = static_cast<int>(p.at("items"));
  const int blocks = gpu_facts().sm_count *
                     blocks_per_multiprocessor(threads, items, static_cast<int>(p.at("stages")));
  const int most = threads * items / kRow, least = threads / 32;
  const int all = static_cast<int>(blocks_for(p.at("n"), kRow));
  const int turns = static_cast<int>(blocks_for(all, blocks * most));
  Tiles tiles{.n = static_cast<int>(p.at("n"))};
  tiles.rows = std::max(static_cast<int>(blocks_for(all, blocks * turns)), least);
  tiles.count = static_cast<int>(blocks_for(all, tiles.rows));
  return tiles;
}

int blocks_of(const Params& p) {
  const int resident = gpu_facts().sm_count *
                       blocks_per_multiprocessor(static_cast<int>(p.at("threads")), static_cast<int>(p.at("items")),
                                                 static_cast<int>(p.at("stages")));
  return std::min(resident, tiles_of_rows(p).count);
}

__device__ __forceinline__ Word word_of(unsigned run, reg<float> sum) {
  return Word{run} << 32 | __float_as_uint(sum);
}

/// The sum in `word`, once it is of this run. `seen`: what was there before.
__device__ __forceinline__ reg<float> await_sum(const volatile mem<Word>* word, Word seen, unsigned run) {
  while (static_cast<unsigned>(seen >> 32) != run) {
    __nanosleep(20);
    seen = *word;
  }
  return __uint_as_float(static_cast<unsigned>(seen));
}

/// A thread's four elements of the row that begins at `row`, to its place in shared memory; zeros beyond n.
__device__ __forceinline__ void fetch(const mem<float>* x, mem<float>* to, int i, int n) {
  if (i + 4 <= n) {
    __pipeline_memcpy_async(to, x + i, 16);
  } else {
    const reg<float> a = i < n ? x[i] : 0.0f, b = i + 1 < n ? x[i + 1] : 0.0f, c = i + 2 < n ? x[i + 2] : 0.0f;
    *vector_cast<float4>(to) = make_float4(a, b, c, 0);
  }
}

__device__ __forceinline__ void put(mem<float>* y, int i, int n, const float4& v, bool streams) {
  if (i + 4 > n) {
    if (i < n) y[i] = v.x;
    if (i + 1 < n) y[i + 1] = v.y;
    if (i + 2 < n) y[i + 2] = v.z;
  } else if (streams) {
    __stcs(vector_cast<float4>(y + i), v);
  } else {
    *vector_cast<float4>(y + i) = v;
  }
}

template <int Threads, int Rows, int Stages>
__global__ void __launch_bounds__(Threads, blocks_per_multiprocessor(Threads, 4 * Rows, Stages))
    scan_persistent(const mem<float>* x, mem<float>* y, volatile mem<Word>* words, mem<Word>* tickets, Tiles tiles,
                    bool streams) {
  constexpr int kWarps = Threads / 32, kLead = lead_of(Stages);
  // A warp may be a turn ahead of the others, as far as the next barrier: by the turn, each has a slot more.
  __shared__ mem<float> warp_sums[kLead + 2][kWarps];  // of the tiles from the present one to the last one told
  __shared__ mem<float> between_sums[2][kWarps];       // each warp's share of the tiles in between
  __shared__ mem<unsigned> run_of_block;
  const int lane = lane_index(), warp = warp_index(), blocks = gridDim.x, thread = threadIdx.x;

  // The warp's rows of a tile, and the thread's place in the first of them.
  const int first_row = warp * tiles.rows / kWarps, rows = (warp + 1) * tiles.rows / kWarps - first_row;
  const int own = first_row * kRow + 4 * lane;
  mem<float>* const ring = dynamic_shared<mem<float>>() + warp * (Rows * kRow) + 4 * lane;
  const auto tile_of = [&](int turn) { return turn * blocks + static_cast<int>(blockIdx.x); };
  const auto slot_of = [&](int turn) { return ring + turn % Stages * (Threads * Rows * 4); };

  const auto fetch_tile = [&](int turn) __attribute__((always_inline)) {
    if (const int tile = tile_of(turn); tile < tiles.count) {
      mem<float>* const to = slot_of(turn);
      const int i = tile * tiles.rows * kRow + own;
#pragma unroll
      for (int row = 0; row < Rows; ++row)
        if (row < rows) fetch(x, to + row * kRow, i + row * kRow, tiles.n);
    }
    __pipeline_commit();
  };
  const auto load_tile = [&](int turn, float4(&part)[Rows]) __attribute__((always_inline)) {
    const mem<float>* const from = slot_of(turn);
#pragma unroll
    for (int row = 0; row < Rows; ++row)
      part[row] = row < rows ? static_cast<float4>(*vector_cast<float4>(from + row * kRow)) : make_float4(0, 0, 0, 0);
  };

#pragma unroll 1
  for (int turn = 0; turn < Stages - kLead; ++turn) fetch_tile(turn);
  // The number of this run; 0 is what words hold before the first.
  if (thread == 0) run_of_block = static_cast<unsigned>(atomicAdd(&tickets[0], Word{1}) / gridDim.x) + 1;

  reg<float> before = 0;  // the sum of all before the present tile
#pragma unroll 1
  for (int turn = -kLead; tile_of(turn) < tiles.count; ++turn) {
    const int tile = tile_of(turn), told = tile_of(turn + kLead);
    const int oldest = tile - blocks;  // of the tiles in between
    const bool reads = turn >= 0 && thread < blocks && oldest + thread >= 0;
    const Word seen = reads ? static_cast<Word>(words[oldest + thread]) : Word{0};

    __pipeline_wait_prior(Stages - 1 - kLead);
    mem<float>* const told_sums = warp_sums[(turn + kLead) % (kLead + 2)];
    if (told < tiles.count) {
      Part<Rows> part;
      load_tile(turn + kLead, part.rows);
      const reg<float> sum = part.total();
      if (lane == 0) told_sums[warp] = sum;
    }
    mem<float>* const between = between_sums[turn & 1];
    if (turn >= 0) {
      const unsigned run = run_of_block;
      reg<float> sum = 0;
      if (reads) sum = await_sum(&words[oldest + thread], seen, run);
      for (int i = thread + Threads; i < blocks; i += Threads)
        if (oldest + i >= 0) sum += await_sum(&words[oldest + i], words[oldest + i], run);
      sum = warp_total(sum);
      if (lane == 0) between[warp] = sum;
    }
    __syncthreads();  // the sums of all warps are there

    if (warp == 0 && told < tiles.count) {
      const reg<float> sum = warp_total(lane < kWarps ? told_sums[lane] : 0.0f);
      if (lane == 0) words[told] = word_of(run_of_block, sum);
    }
    if (turn >= 0) {
      before += warp_total(lane < kWarps ? between[lane] : 0.0f);
      const reg<float> left = warp_total(lane < warp ? warp_sums[turn % (kLead + 2)][lane] : 0.0f);
      Part<Rows> part;
      load_tile(turn, part.rows);
      part.scan();
      const int i = tile * tiles.rows * kRow + own;
#pragma unroll
      for (int row = 0; row < Rows; ++row) {
        const reg<float> sum = before + left + part.before[row];
        const float4 v = part.rows[row];
        if (row < rows)
          put(y, i + row * kRow, tiles.n, make_float4(sum + v.x, sum + v.y, sum + v.z, sum + v.w), streams);
      }
    }
    fetch_tile(turn + Stages);
  }
}

const bool added = add_gpu_kernel({
    .name = "gpu/prefix_sum/persistent",
    .order = 50,
    .title = "persistent blocks",
    .idea = "As many blocks as the GPU holds take every so manieth tile, tell the sums of their next ones ahead, and add "
            "up what the others have told: nobody looks back.",
    .source = {{"merrill2016"}},
    .tunables = {{"threads", PersistentThreads::values()},
                 {"items", PersistentItems::values()},
                 {"stages", Stages::values()},
                 {"stores", words({"streaming", "ordinary"})}},
    .refuse =
        [](const Params& p) -> std::string {
      const auto bytes = ring_bytes(static_cast<int>(p.at("threads")), static_cast<int>(p.at("items")),
                                    static_cast<int>(p.at("stages")));
      return bytes + 1024 <= kMostShared ? "" : "a ring of so many tiles is larger than shared memory";
    },
    .scratch =
        [](const Params& p) {
          const auto zeroed = [](const char* name, std::size_t count) {
            return Operand{
                .name = name, .elements = 2 * count, .type = Type::uint32, .role = Role::scratch, .is_zeroed = true};
          };
          return std::vector{zeroed("words", tiles_of_rows(p).count), zeroed("tickets", 1)};
        },
    .gpu =
        {
            .min_compute_capability = 80,
            .launch =
                [](const Params& p) {
                  const int threads = static_cast<int>(p.at("threads"));
                  return Launch{{static_cast<unsigned>(blocks_of(p))},
                                {static_cast<unsigned>(threads)},
                                ring_bytes(threads, static_cast<int>(p.at("items")), static_cast<int>(p.at("stages")))};
                },
            .requested =
                [](const Params& p) {  // where nobody waits, a word is read once
                  const double n = 4.0 * p.at("n"), tiles = tiles_of_rows(p).count, blocks = blocks_of(p);
                  const double seen = blocks * (blocks - 1) / 2 + blocks * (tiles - blocks);  // words
                  return Traffic{.loaded = n + 8 * seen, .stored = n + 8 * (tiles + blocks)};
                },
        },
    .run =
        [](const Call& call) {
          const Params& p = call.params;
          PersistentThreads::pick(p.at("threads"), [&](auto threads) {
            PersistentItems::pick(p.at("items"), [&](auto items) {
              Stages::pick(p.at("stages"), [&](auto stages) {
                if constexpr (ring_bytes(threads, items, stages) + 1024 <= kMostShared)
                  launch_together(call, scan_persistent<threads, items / 4, stages>, call.operand<const mem<float>>(0),
                                  call.operand<mem<float>>(1), call.operand<mem<Word>>(2), call.operand<mem<Word>>(3),
                                  tiles_of_rows(p), p.at("stores") == 0);
              });
            });
          });
        },
});

}  // namespace
}  // namespace rung
