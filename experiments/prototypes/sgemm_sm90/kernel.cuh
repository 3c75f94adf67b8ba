// SGEMM on the FP32 lanes of sm_90 (no tensor cores): C = A B, row-major, float32.
//
// Tiles come by TMA (one instruction a tile) through a ring of mbarriers, so that the computing warps issue almost
// only LDS.128 and FFMA. The grid is persistent; with stream-K the last, partial wave is shared by all SMs.
#pragma once
#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdint>

namespace sgemm {

/// Tile of A in shared memory: [m][k] as TMA brings it (swizzled), or [k][m] from an A transposed in global memory.
enum class ALayout { kRows, kTransposed };
enum class Producer {
  kWarpgroup,
  kWarp
};  // what issues the TMA: an extra warpgroup, which gives up registers, or a warp
enum class Order { kRowSnake, kColumnSnake, kRowPair, kColumnPair };  // of the FFMAs of a k-step

/// Shape of one kernel. TM x TN outputs a thread, LM x LN lanes a warp, WM x WN computing warps a block.
template <int TM_, int TN_, int LM_, int LN_, int WM_, int WN_, int BK_, int kStages_, ALayout kA_, Producer kProducer_,
          Order kOrder_, int kUnroll_ = BK_, int kGap_ = 16, int kBlocksPerSm_ = 1, bool kMixed_ = false,
          int kSlices_ = 1, bool kSingle_ = false, int kFence_ = 0>
struct Config {
  static constexpr int TM = TM_, TN = TN_, LM = LM_, LN = LN_, WM = WM_, WN = WN_, BK = BK_, kStages = kStages_;
  static constexpr ALayout kA = kA_;
  static constexpr Producer kProducer = kProducer_;
  static constexpr Order kOrder = kOrder_;
  static constexpr int kUnroll = kUnroll_;  // k-steps in the body of the inner loop
  static constexpr int kGap = kGap_;        // FFMAs between two loads from shared memory
  static constexpr int kBlocksPerSm = kBlocksPerSm_;
  static constexpr bool kSingle = kSingle_;  // the operand of the outer loop in one buffer, refilled as it falls free
  static constexpr int kFence =
      kFence_;  // k-steps between two __syncwarp, which keep ptxas from moving loads far; 0: none
  static constexpr bool kMixed =
      kMixed_;  // lanes i, i ^ 1 and i ^ 2 differ in m and in n, so that no LDS.128 merges them
  static constexpr bool kRowsFirst = kOrder == Order::kRowPair || kOrder == Order::kRowSnake;
  static constexpr int BM = TM * LM * WM, BN = TN * LN * WN;
  static constexpr int kSlices = kSlices_;  // groups of warps that share out the k-steps of a stage, and then add up
  static constexpr int kGroup = WM * WN * 32, kConsumers = kGroup * kSlices;
  static constexpr int kLoaders = kProducer == Producer::kWarpgroup ? 4 : 1;  // warps that issue the loads, in turn
  static constexpr int kThreads = kConsumers + kLoaders * 32;
  static constexpr int kStageA = BM * BK, kStageB = BN * BK;  // floats
  static constexpr int kStageBytes = (kStageA + kStageB) * 4;
  static constexpr int kScratch = kSlices / 2 * BM * BN * 4;                     // bytes
  static constexpr int kShared = kStages * kStageBytes + kScratch + 1024 + 256;  // alignment of the swizzle, barriers
  static_assert(LM * LN == 32 && TM % 4 == 0 && TN % 4 == 0 && BK % kUnroll == 0 && kUnroll % 4 == 0 &&
                kLoaders <= kStages);
  static_assert(kA != ALayout::kRows || (LM == 8 && (BK == 8 || BK == 16 || BK == 32)),
                "the swizzle needs 8 rows a phase");
  static_assert(kGap % 8 == 0, "loads come before multiples of 4 FFMAs, for kRows in the middle of a gap");
  static_assert(kStageA * 4 % 1024 == 0 && kStageB * 4 % 1024 == 0);
  static_assert(!kMixed || LN == 4);
  static_assert(kSlices == 1 || (kUnroll * kSlices == BK && (kSlices & (kSlices - 1)) == 0));

  __device__ static int lane_m(int lane) { return kMixed ? (lane >> 2) ^ (lane & 3) : lane / LN; }
  __device__ static int lane_n(int lane) { return lane % LN; }
};

struct Problem {
  float* c;
  int m, n, k, ldc;
  float alpha;      // C = alpha A B
  int quads;        // C has 16-byte lines: it is stored by float4
  int stream_k;     // 1: share the last, partial wave
  int splits;       // > 1: block b does part b / tiles of the k of tile b % tiles, into a plane of its own
  size_t plane;     // floats from one part's C to the next
  float* partials;  // one tile of sums a block
  unsigned* flags;  // one a block; equal to epoch when the block's partial tile is written
  unsigned epoch;
  long long* clocks;  // 4 values by block 0: clock64 and globaltimer at start and end
};

// ---- PTX -----------------------------------------------------------------------------------------------------------

__device__ inline uint32_t smem_address(const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }

__device__ inline void barrier_init(uint32_t barrier, int count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory");
}

__device__ inline void barrier_expect(uint32_t barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

__device__ inline void barrier_arrive(uint32_t barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

/// Waits, with a whole warp, for the end of a phase. The vote makes the branch one that cannot split the warp; without
/// it the compiler guards the loop with a YIELD, which costs some 40 cycles.
__device__ inline void barrier_wait(uint32_t barrier, uint32_t parity) {
  asm volatile(
      "{\n .reg .pred p;\n"
      "again:\n mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n"
      " vote.sync.all.pred p, p, 0xFFFFFFFF;\n"
      " @p bra.uni done;\n bra.uni again;\ndone:\n}" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

/// The same, if wanted is not 0.
__device__ inline void barrier_wait_if(uint32_t wanted, uint32_t barrier, uint32_t parity) {
  asm volatile(
      "{\n .reg .pred p;\n setp.eq.u32 p, %2, 0;\n @p bra.uni done;\n"
      "again:\n mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n"
      " vote.sync.all.pred p, p, 0xFFFFFFFF;\n"
      " @p bra.uni done;\n bra.uni again;\ndone:\n}" ::"r"(barrier),
      "r"(parity), "r"(wanted)
      : "memory");
}

__device__ inline void tma_load(uint32_t to, const CUtensorMap* map, uint32_t barrier, int x, int y) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::"r"(
          to),
      "l"(map), "r"(barrier), "r"(x), "r"(y)
      : "memory");
}

__device__ inline float4 lds128(uint32_t address) {
  float4 v;
  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "r"(address));
  return v;
}

__device__ inline void sts32(uint32_t address, float v) {
  asm volatile("st.shared.f32 [%0], %1;" ::"r"(address), "f"(v) : "memory");
}

__device__ inline long long global_timer() {
  long long t;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t));
  return t;
}

// ---- Schedule ------------------------------------------------------------------------------------------------------

struct Piece {
  int tile, k0, length;  // in k-tiles
};

/// The pieces of work of one block: whole tiles wave by wave, then its share of the last tiles (stream-K).
struct Schedule {
  int tiles, k_tiles, blocks, block, dense;  // dense: whole tiles, the first ones
  int wave, unit, end;

  __device__ Schedule(int tiles_, int k_tiles_, bool stream_k, int splits)
      : tiles(tiles_),
        k_tiles(k_tiles_),
        blocks(gridDim.x),
        block(blockIdx.x),
        dense(tiles_),
        wave(0),
        unit(0),
        end(0) {
    if (splits > 1) {
      const int start = block % tiles * k_tiles, part = block / tiles;
      dense = 0;
      unit = start + k_tiles * part / splits;
      end = start + k_tiles * (part + 1) / splits;
    } else if (stream_k && tiles % blocks != 0) {
      dense = max(0, tiles / blocks - 1) * blocks;
      unit = first_unit(block);
      end = first_unit(block + 1);
    }
  }
  __device__ int first_unit(int b) const {
    return static_cast<int>(static_cast<long long>(tiles - dense) * k_tiles * b / blocks);
  }
  __device__ int total() const {
    const int waves = dense > block ? (dense - block + blocks - 1) / blocks : 0;
    return waves * k_tiles + end - unit;
  }
  __device__ bool next(Piece& p) {
    const int tile = wave * blocks + block;
    if (tile < dense) {
      p = {tile, 0, k_tiles};
      ++wave;
      return true;
    }
    if (unit >= end) return false;
    const int k0 = unit % k_tiles;
    p = {dense + unit / k_tiles, k0, min(k_tiles - k0, end - unit)};
    unit += p.length;
    return true;
  }
};

/// Row and column of a tile: groups of 8 rows of tiles, column by column, so that neighbours in time share A and B.
__device__ inline int2 tile_place(int tile, int rows, int columns) {
  constexpr int kGroup = 8;
  const int group = tile / (kGroup * columns);
  const int height = min(kGroup, rows - group * kGroup);
  const int within = tile - group * kGroup * columns;
  return {group * kGroup + within % height, within / height};
}

/// A position in the ring of stages.
template <int kStages>
struct Slot {
  int stage = 0;
  uint32_t phase = 0;
  __device__ void advance() {
    if (++stage == kStages) {
      stage = 0;
      phase ^= 1;
    }
  }
};

// ---- Loading -------------------------------------------------------------------------------------------------------

__device__ inline bool elect_one() {
  uint32_t chosen;
  asm volatile("{\n .reg .pred p;\n elect.sync _|p, 0xFFFFFFFF;\n selp.u32 %0, 1, 0, p;\n}" : "=r"(chosen));
  return chosen != 0;
}

/// The compiler may not compute x again from what it came from.
__device__ inline uint32_t kept(uint32_t x) {
  asm volatile("" : "+r"(x));
  return x;
}

/// Issues every kLoaders-th k-tile of a block, from the loader-th on. The loading warps take turns, so that each of the
/// SM's four schedulers bears a quarter of that work: a block waits for its slowest scheduler.
template <class C>
__device__ inline void load_tiles(const CUtensorMap* map_a, const CUtensorMap* map_b, uint32_t tiles_at, uint32_t full,
                                  uint32_t empty, Schedule schedule, int rows, int columns, int loader) {
  asm volatile("griddepcontrol.wait;" ::: "memory");  // the kernel before this one may still be writing A transposed
  int stage = loader, skip = loader;
  uint32_t phase = 1;
  Piece p;
  while (schedule.next(p)) {
    const int2 place = tile_place(p.tile, rows, columns);
    const int row = place.x * C::BM, column = place.y * C::BN;
#pragma unroll 1
    for (; skip < p.length; skip += C::kLoaders) {
      const uint32_t barrier = full + stage * 8, to = tiles_at + stage * C::kStageBytes;
      const int k = (p.k0 + skip) * C::BK;
      barrier_wait(empty + stage * 8, phase);
      if (elect_one()) {
        barrier_expect(barrier, C::kStageBytes);
        if constexpr (C::kA == ALayout::kRows)
          tma_load(to, map_a, barrier, k, row);
        else
          tma_load(to, map_a, barrier, row, k);
        tma_load(to + C::kStageA * 4, map_b, barrier, column, k);
      }
      stage += C::kLoaders;
      if (stage >= C::kStages) stage -= C::kStages, phase ^= 1;
    }
    skip -= p.length;
  }
}

/// sum += a b; as volatile assembly, so that the compiler's front end keeps the order of the source for ptxas.
__device__ inline void fma_into(float& sum, float a, float b) {
  asm volatile("fma.rn.f32 %0, %1, %2, %0;" : "+f"(sum) : "f"(a), "f"(b));
}

// ---- Computing -----------------------------------------------------------------------------------------------------

__device__ inline void load4(float (&to)[4], uint32_t address) {
  const float4 v = lds128(address);
  to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w;
}

/// The n-th of the TM x TN outputs in an order. Snakes change one operand a step. Pairs walk two rows (columns) at
/// once: the reuse cache holds one register for each operand slot and bank, so both operands of the pair stay in it,
/// and the other operand, used twice, is read every second FFMA: 1.5 register reads an FFMA, where a snake has 2.
template <int TM, int TN>
__device__ constexpr int2 output_at(Order order, int n) {
  switch (order) {
    case Order::kRowSnake: {
      const int i = n / TN, j = n % TN;
      return {i, i % 2 ? TN - 1 - j : j};
    }
    case Order::kColumnSnake: {
      const int j = n / TM, i = n % TM;
      return {j % 2 ? TM - 1 - i : i, j};
    }
    case Order::kRowPair: {
      const int i = n / (2 * TN), j = n / 2 % TN;
      return {i * 2 + (j + n) % 2, i % 2 ? TN - 1 - j : j};
    }
    default: {  // kColumnPair
      const int j = n / (2 * TM), i = n / 2 % TM;
      return {j % 2 ? TM - 1 - i : i, j * 2 + (i + n) % 2};
    }
  }
}

/// acc += a b, the outer product of one k-step, in an order; before(n) comes before the n-th FFMA (a multiple of 4).
template <class C, Order kOrder, class Acc, class A, class B, class Before>
__device__ inline void outer_product(Acc& acc, A a_at, B b_at, Before before) {
#pragma unroll
  for (int n = 0; n < C::TM * C::TN; ++n) {
    if (n % 4 == 0) before(n);
    const int2 at = output_at<C::TM, C::TN>(kOrder, n);
    fma_into(acc[at.x][at.y], a_at(at.x), b_at(at.y));
  }
}

template <class C>
struct Fragments;

/// A and B both [k][..]: a k-step reads TM / 4 + TN / 4 quads.
template <class C>
requires(C::kA != ALayout::kRows) struct Fragments<C> {
  static constexpr int kA4 = C::TM / 4, kB4 = C::TN / 4;
  static constexpr int kBuffersA = C::kSingle && C::kRowsFirst ? 1 : 2;
  static constexpr int kBuffersB = C::kSingle && !C::kRowsFirst ? 1 : 2;
  float a[kBuffersA][kA4][4], b[kBuffersB][kB4][4];

  __device__ static uint32_t offset_a(int warp_m, int lane_m) { return (warp_m * C::LM * C::TM + lane_m * 4) * 4; }
  __device__ static int row(int warp_m, int lane_m, int i) {
    return warp_m * C::LM * C::TM + (i / 4) * C::LM * 4 + lane_m * 4 + i % 4;
  }
  __device__ void load_a(int buffer, int g, uint32_t base, int k) {
    load4(a[buffer % kBuffersA][g], base + (k * C::BM + g * C::LM * 4) * 4);
  }
  __device__ void load_b(int buffer, int g, uint32_t base, int k) {
    load4(b[buffer % kBuffersB][g], base + (k * C::BN + g * C::LN * 4) * 4);
  }
  __device__ void load_first(uint32_t at_a, uint32_t at_b, int, int) {
#pragma unroll
    for (int g = 0; g < kA4; ++g) load_a(0, g, at_a, 0);
#pragma unroll
    for (int g = 0; g < kB4; ++g) load_b(0, g, at_b, 0);
  }
  /// kUnroll k-steps; the step after them is the first one at next_a, next_b. The loads of a step are spread over the
  /// step before it. before(s) comes before step s.
  template <class Acc, class Before>
  __device__ void tile(Acc& acc, uint32_t at_a, uint32_t at_b, uint32_t next_a, uint32_t next_b, int, Before before) {
    static_assert(C::BK % 2 == 0);
#pragma unroll
    for (int s = 0; s < C::kUnroll; ++s) {
      before(s);
      const bool last = s == C::kUnroll - 1;
      const uint32_t from_a = last ? next_a : at_a, from_b = last ? next_b : at_b;
      const int k = last ? 0 : s + 1, now = s % 2, then = 1 - now;
      outer_product<C, C::kOrder>(
          acc, [&](int i) { return a[now % kBuffersA][i / 4][i % 4]; },
          [&](int j) { return b[now % kBuffersB][j / 4][j % 4]; }, [&](int n) { loads(n, then, from_a, from_b, k); });
      loads(C::TM * C::TN, then, from_a, from_b, k);
    }
  }
  /// The loads that come before the n-th FFMA. In one buffer: a quad of the outer operand, once it is used up.
  /// In two: first a quad of the outer operand, then all of the inner, then the rest.
  __device__ void loads(int n, int then, uint32_t from_a, uint32_t from_b, int k) {
    constexpr int kOuter = C::kRowsFirst ? kA4 : kB4, kInner = C::kRowsFirst ? kB4 : kA4;
    constexpr int kSpan = C::TM * C::TN / kOuter;  // FFMAs that use one quad of the outer operand
    int outer = -1, inner = -1;
    if (C::kSingle) {
      if (n > 0 && n % kSpan == 0) outer = n / kSpan - 1;
      if (n % C::kGap == 0 && n / C::kGap < kInner) inner = n / C::kGap;
    } else if (n % C::kGap == 0 && n / C::kGap < kInner + kOuter) {
      const int g = n / C::kGap;
      if (g == 0) outer = 0;
      if (g > 0 && g <= kInner) inner = g - 1;
      if (g > kInner) outer = g - kInner;
    }
    if (outer >= 0) C::kRowsFirst ? load_a(then, outer, from_a, k) : load_b(then, outer, from_b, k);
    if (inner >= 0) C::kRowsFirst ? load_b(then, inner, from_b, k) : load_a(then, inner, from_a, k);
  }
};

/// A as [m][k] with TMA's swizzle: one LDS.128 reads four k of a row, so four k-steps read TM rows once.
template <class C>
requires(C::kA == ALayout::kRows) struct Fragments<C> {
  float a[C::TM][4], b[2][C::TN / 4][4];

  __device__ static uint32_t offset_a(int warp_m, int lane_m) { return (warp_m * C::LM * C::TM + lane_m) * C::BK * 4; }
  __device__ static int row(int warp_m, int lane_m, int i) { return warp_m * C::LM * C::TM + i * C::LM + lane_m; }
  /// The 16-byte chunk at which TMA put chunk c of this lane's rows: rows are C::LM = 8 apart, so all have one key.
  __device__ static uint32_t chunk(int c, int lane_m) { return (c ^ (lane_m / (32 / C::BK))) * 16; }
  __device__ void load_a(int i, uint32_t base) { load4(a[i], base + i * C::LM * C::BK * 4); }
  __device__ void load_b(int buffer, int g, uint32_t base, int k) {
    load4(b[buffer][g], base + (k * C::BN + g * C::LN * 4) * 4);
  }
  __device__ void load_first(uint32_t at_a, uint32_t at_b, int lane_m, int first) {
#pragma unroll
    for (int i = 0; i < C::TM; ++i) load_a(i, at_a + chunk(first, lane_m));
#pragma unroll
    for (int g = 0; g < C::TN / 4; ++g) load_b(0, g, at_b, 0);
  }
  /// As above. The rows of a are refilled in the last of four steps, one after the other as they fall free.
  template <class Acc, class Before>
  __device__ void tile(Acc& acc, uint32_t at_a, uint32_t at_b, uint32_t next_a, uint32_t next_b, int lane_m,
                       Before before, int chunk_0 = 0) {
    static_assert(C::kOrder == Order::kRowSnake);
#pragma unroll
    for (int s = 0; s < C::kUnroll; ++s) {
      before(s);
      const bool last = s == C::kUnroll - 1;
      const uint32_t from_a = last ? next_a : at_a + chunk(chunk_0 + s / 4 + 1, lane_m);
      const uint32_t from_b = last ? next_b : at_b;
      const int k = last ? 0 : s + 1, now = s % 2, then = 1 - now;
      outer_product<C, C::kOrder>(
          acc, [&](int i) { return a[i][s % 4]; }, [&](int j) { return b[now][j / 4][j % 4]; },
          [&](int n) {
            // Off the multiples of TN, where the rows of a are loaded.
            if (n % C::kGap == C::kGap / 2 && n / C::kGap < C::TN / 4) load_b(then, n / C::kGap, from_b, k);
            if (s % 4 == 3 && n > 0 && n % C::TN == 0) load_a(n / C::TN - 1, from_a);
          });
      if (s % 4 == 3) load_a(C::TM - 1, from_a);
    }
  }
};

template <class C>
__device__ inline void store_tile(const Problem& p, float* c, int2 place, int warp_m, int lane_m, int column,
                                  const float (&acc)[C::TM][C::TN]) {
#pragma unroll
  for (int i = 0; i < C::TM; ++i) {
    const int row = place.x * C::BM + Fragments<C>::row(warp_m, lane_m, i);
    if (row >= p.m) continue;
    float* line = c + static_cast<size_t>(row) * p.ldc;
#pragma unroll
    for (int g = 0; g < C::TN / 4; ++g) {
      const int x = place.y * C::BN + column + g * C::LN * 4;
      if (p.quads && x + 3 < p.n) {
        __stcs(reinterpret_cast<float4*>(line + x),
               make_float4(acc[i][g * 4], acc[i][g * 4 + 1], acc[i][g * 4 + 2], acc[i][g * 4 + 3]));
      } else {
#pragma unroll
        for (int e = 0; e < 4; ++e)
          if (x + e < p.n) line[x + e] = acc[i][g * 4 + e];
      }
    }
  }
}

template <int kId, int kThreads>
__device__ inline void named_sync() {
  asm volatile("bar.sync %0, %1;" ::"n"(kId), "n"(kThreads) : "memory");
}

/// Adds the sums of all slices into those of slice 0, by halves, over shared memory.
template <class C>
__device__ inline void add_slices(float (&sum)[C::TM][C::TN], uint32_t scratch, int slice, int thread) {
#pragma unroll
  for (int half = C::kSlices / 2; half > 0; half /= 2) {
    const uint32_t at = scratch + (slice % half * C::BM * C::BN + thread * 4) * 4;
    if (slice >= half && slice < 2 * half)
#pragma unroll
      for (int i = 0; i < C::TM; ++i)
#pragma unroll
        for (int g = 0; g < C::TN / 4; ++g)
          asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(at + (i * C::TN / 4 + g) * C::kGroup * 16),
                       "f"(sum[i][g * 4]), "f"(sum[i][g * 4 + 1]), "f"(sum[i][g * 4 + 2]), "f"(sum[i][g * 4 + 3])
                       : "memory");
    named_sync<1, C::kConsumers>();
    if (slice < half)
#pragma unroll
      for (int i = 0; i < C::TM; ++i)
#pragma unroll
        for (int g = 0; g < C::TN / 4; ++g) {
          const float4 v = lds128(at + (i * C::TN / 4 + g) * C::kGroup * 16);
          sum[i][g * 4] += v.x, sum[i][g * 4 + 1] += v.y, sum[i][g * 4 + 2] += v.z, sum[i][g * 4 + 3] += v.w;
        }
    named_sync<1, C::kConsumers>();
  }
}

/// Gives this block's sums of a tile, of which another block has the first k, to that block.
template <class C>
__device__ inline void give_partial(const Problem& p, int thread, const float (&acc)[C::TM][C::TN]) {
  float4* to = reinterpret_cast<float4*>(p.partials) + static_cast<size_t>(blockIdx.x) * C::BM * C::BN / 4 + thread;
#pragma unroll
  for (int i = 0; i < C::TM; ++i)
#pragma unroll
    for (int g = 0; g < C::TN / 4; ++g)
      __stcg(to + (i * C::TN / 4 + g) * C::kGroup,
             make_float4(acc[i][g * 4], acc[i][g * 4 + 1], acc[i][g * 4 + 2], acc[i][g * 4 + 3]));
  __threadfence();
  named_sync<2, C::kGroup>();
  if (thread == 0) asm volatile("st.release.gpu.u32 [%0], %1;" ::"l"(p.flags + blockIdx.x), "r"(p.epoch) : "memory");
}

/// Adds the sums that the blocks after this one have of the tile ending at unit `tile_end`. Those blocks do that piece
/// first of their share, and all blocks are resident, so the wait ends.
template <class C>
__device__ inline void take_partials(const Problem& p, const Schedule& schedule, int tile_end, int thread,
                                     float (&acc)[C::TM][C::TN]) {
  for (int block = blockIdx.x + 1; block < schedule.blocks && schedule.first_unit(block) < tile_end; ++block) {
    if (schedule.first_unit(block) == schedule.first_unit(block + 1)) continue;
    unsigned seen;
    do {
      asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(seen) : "l"(p.flags + block) : "memory");
    } while (seen != p.epoch);
    const float4* from =
        reinterpret_cast<const float4*>(p.partials) + static_cast<size_t>(block) * C::BM * C::BN / 4 + thread;
#pragma unroll
    for (int i = 0; i < C::TM; ++i)
#pragma unroll
      for (int g = 0; g < C::TN / 4; ++g) {
        const float4 v = __ldcg(from + (i * C::TN / 4 + g) * C::kGroup);
        acc[i][g * 4] += v.x, acc[i][g * 4 + 1] += v.y, acc[i][g * 4 + 2] += v.z, acc[i][g * 4 + 3] += v.w;
      }
  }
}

template <class C>
__device__ inline void compute(const Problem& p, Schedule schedule, uint32_t tiles_at, uint32_t full, uint32_t empty,
                               int columns, int rows) {
  const int slice = threadIdx.x / C::kGroup, thread = threadIdx.x % C::kGroup, warp = thread / 32, lane = thread % 32;
  const int warp_m = warp / C::WN, warp_n = warp % C::WN, lane_m = C::lane_m(lane), lane_n = C::lane_n(lane);
  const int column = warp_n * C::LN * C::TN + lane_n * 4;
  const uint32_t base_a = tiles_at + Fragments<C>::offset_a(warp_m, lane_m) +
                          (C::kA == ALayout::kRows ? 0 : slice * C::kUnroll * C::BM * 4);
  const uint32_t base_b = tiles_at + (C::kStageA + slice * C::kUnroll * C::BN + column) * 4;

  int left = schedule.total();
  if (left == 0) return;
  Slot<C::kStages> slot;
  barrier_wait(full, 0);
  Fragments<C> fragments;
  const int first = C::kSlices > 1 ? slice * C::kUnroll / 4 : 0;  // chunk of A in a stage
  fragments.load_first(base_a, base_b, lane_m, first);
  float acc[C::TM][C::TN];
  Piece piece;
  while (schedule.next(piece)) {
#pragma unroll
    for (int i = 0; i < C::TM; ++i)
#pragma unroll
      for (int j = 0; j < C::TN; ++j) acc[i][j] = 0;
#pragma unroll 1
    for (int kt = 0; kt < piece.length; ++kt) {
      const uint32_t at = slot.stage * C::kStageBytes, release = empty + slot.stage * 8;
      slot.advance();
      const uint32_t next = slot.stage * C::kStageBytes, filled = full + slot.stage * 8;
      --left;
      const int parts =
          kept(C::BK / C::kUnroll / C::kSlices);  // hidden, so that the loop is neither peeled nor unrolled
#pragma unroll 1
      for (int part = 0; part < parts; ++part) {
        const bool last = part == parts - 1;
        uint32_t at_a = base_a + at, next_a = base_a + next;
        const uint32_t at_b = base_b + at + part * C::kUnroll * C::BN * 4;
        const uint32_t next_b = last ? base_b + next : at_b + C::kUnroll * C::BN * 4;
        if constexpr (C::kA == ALayout::kRows) {
          next_a = last ? next_a + Fragments<C>::chunk(first, lane_m)
                        : at_a + Fragments<C>::chunk((part + 1) * C::kUnroll / 4, lane_m);
        } else {
          at_a += part * C::kUnroll * C::BM * 4;
          if (!last) next_a = at_a + C::kUnroll * C::BM * 4;
        }
        // After the very last k-tile the next stage is one that nobody fills any more; what is read there is not used.
        const auto before = [&](int s) {
          if constexpr (C::kFence > 0) {
            if (s % C::kFence == 0) __syncwarp();
          }
          if (s == C::kUnroll - 1) barrier_wait_if(last && left > 0, filled, slot.phase);
        };
        if constexpr (C::kA == ALayout::kRows)
          fragments.tile(acc, at_a, at_b, next_a, next_b, lane_m, before, first + part * C::kUnroll / 4);
        else
          fragments.tile(acc, at_a, at_b, next_a, next_b, lane_m, before);
      }
      __syncwarp();
      if (lane == 0) barrier_arrive(release);
    }
    // Scaling into registers of their own leaves the sums free of the order that STG.128 wants, so that the compiler
    // can put a sum and its b into different register banks.
    float out[C::TM][C::TN];
#pragma unroll
    for (int i = 0; i < C::TM; ++i)
#pragma unroll
      for (int j = 0; j < C::TN; ++j) out[i][j] = p.alpha * acc[i][j];
    if constexpr (C::kSlices > 1) {
      add_slices<C>(out, empty + C::kStages * 8, slice, thread);
      if (slice > 0) continue;
    }
    if (piece.k0 > 0 && p.splits == 1) {
      give_partial<C>(p, thread, out);
      continue;
    }
    if (piece.length < schedule.k_tiles && p.splits == 1)
      take_partials<C>(p, schedule, (piece.tile - schedule.dense + 1) * schedule.k_tiles, thread, out);
    float* c = p.c + (p.splits > 1 ? blockIdx.x / schedule.tiles * p.plane : 0);
    store_tile<C>(p, c, tile_place(piece.tile, rows, columns), warp_m, lane_m, column, out);
  }
}

/// The loading warpgroup gives registers to the computing ones. Only sm_90a has the instruction: code for plain sm_90,
/// which some builds of nvcc emit beside it, keeps the even shares.
template <class C, bool kMore>
__device__ inline void move_registers() {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  if constexpr (C::kProducer == Producer::kWarpgroup && C::kConsumers >= 256) {
    constexpr int kWarps = C::kConsumers / 128;        // computing warps of a scheduler, which has 512 registers a lane
    constexpr int kEven = 512 / (kWarps + 1) / 8 * 8;  // at the start
    constexpr int kMany = ((kWarps + 1) * kEven - 24) / kWarps / 8 * 8;
    if constexpr (kMore)
      asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kMany));
    else
      asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
  }
#endif
}

template <class C>
__global__ void __launch_bounds__(C::kThreads, C::kBlocksPerSm)
    sgemm_kernel(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
                 const Problem p) {
  extern __shared__ uint8_t raw[];
  const uint32_t tiles_at = kept((smem_address(raw) + 1023) & ~1023u);
  const uint32_t full = tiles_at + C::kStages * C::kStageBytes, empty = full + C::kStages * 8;
  if (threadIdx.x == 0) {
    for (int s = 0; s < C::kStages; ++s) {
      barrier_init(full + s * 8, 1);
      barrier_init(empty + s * 8, C::kConsumers / 32);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  }
  __syncthreads();
  const int rows = (p.m + C::BM - 1) / C::BM, columns = (p.n + C::BN - 1) / C::BN;
  const Schedule schedule(rows * columns, (p.k + C::BK - 1) / C::BK, p.stream_k, p.splits);
  const bool stamps = blockIdx.x == 0 && threadIdx.x == 0;
  if (stamps) p.clocks[0] = clock64(), p.clocks[1] = global_timer();
  if (threadIdx.x >= C::kConsumers) {
    move_registers<C, false>();
    const int loader = __shfl_sync(~0u, (threadIdx.x - C::kConsumers) / 32, 0);
    load_tiles<C>(&map_a, &map_b, tiles_at, full, empty, schedule, rows, columns, loader);
    return;
  }
  move_registers<C, true>();
  compute<C>(p, schedule, tiles_at, full, empty, columns, rows);
  asm volatile("griddepcontrol.launch_dependents;");
  if (stamps) p.clocks[2] = clock64(), p.clocks[3] = global_timer();
}

}  // namespace sgemm
