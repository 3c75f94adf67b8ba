/// The kernel of the rungs that multiply with wgmma. Only for files compiled for sm_90a.
///
/// Each stage of the ring has two mbarriers: a phase of `full` ends when TMA has written both tiles, one of `empty`
/// when every multiplying warp has read them.
#pragma once

#include "gpu/matmul/hopper_ptx.hpp"
#include "gpu/matmul/wgmma.hpp"
#include "gpu/matmul/wgmma_ptx.hpp"
#include "gpu/tensor_map.hpp"

namespace rung::wgmma {

using namespace hopper;

struct Output {
  float* c;
  int m, n, k, ldc;
  float alpha, beta;
  bool pairs, quads;  // C's rows begin at multiples of 8 bytes, of 16
  int group_rows;     // of tiles, or of pairs of them: tiles are taken in groups of so many
};

/// The steps in k of a block: all, or its part of them.
struct Steps {
  int first, count;
};

/// The tiles of a block, one after the other; those of a cluster's blocks are one below the other.
template <Shape kShape>
struct Tiles {
  int rows, cols, group_rows, tile, rank;  // rows and tiles of clusters
  __device__ Tiles(const Output& out, int rank_)
      : rows((out.m + kShape.rows() * kShape.cluster - 1) / (kShape.rows() * kShape.cluster)),
        cols((out.n + kShape.cols - 1) / kShape.cols),
        group_rows(out.group_rows),
        tile(blockIdx.x / kShape.cluster_blocks()),
        rank(rank_) {}
  __device__ bool next(hopper::Place& place) {
    if (tile >= rows * cols) return false;
    place = grouped_place(tile, rows, cols, group_rows);
    place.row = place.row * kShape.cluster + rank;
    tile = kShape.persistent ? tile + gridDim.x / kShape.cluster_blocks() : rows * cols;
    return true;
  }
};

/// One thread issues all loads. `sharers`: the blocks that load B together, a bit each.
template <Shape kShape>
__device__ __forceinline__ void load_tiles(const CUtensorMap* map_a, const CUtensorMap* map_b, std::uint32_t tiles_at,
                                           std::uint32_t full, std::uint32_t empty, Tiles<kShape> tiles, Steps steps,
                                           std::uint16_t sharers) {
  int stage = 0;
  std::uint32_t phase = 1;  // all stages are empty at first
  hopper::Place place;
  while (tiles.next(place)) {
    const int row = place.row * kShape.rows(), col = place.col * kShape.cols;
#pragma unroll 1
    for (int step = steps.first; step < steps.first + steps.count; ++step) {
      const std::uint32_t a_at = tiles_at + stage * kShape.stage_bytes(), b_at = a_at + kShape.a_bytes();
      const std::uint32_t barrier = full + stage * 8;
      barrier_wait(empty + stage * 8, phase);
      if (elect_one()) {
        barrier_expect(barrier, kShape.stage_bytes());
        tma_load(a_at, map_a, barrier, step * kDepth, row);
        constexpr int kBoxRows = kShape.box_rows();
        constexpr int kLoads = kShape.boxes() * (kDepth / kBoxRows) / kShape.cluster;  // of B, by this block
#pragma unroll
        for (int i = 0; i < kLoads; ++i) {
          const int load = tiles.rank * kLoads + i, box = load % kShape.boxes(), k = load / kShape.boxes() * kBoxRows;
          const int to = b_at + (box * kDepth + k) * kBoxCols * 2;
          if constexpr (kShape.cluster > 1)
            tma_multicast(to, map_b, barrier, col + box * kBoxCols, step * kDepth + k, sharers);
          else
            tma_load(to, map_b, barrier, col + box * kBoxCols, step * kDepth + k);
        }
      }
      if (++stage == kShape.stages) stage = 0, phase ^= 1;
    }
  }
}

/// A thread's first row in a warpgroup's part of a tile, and its first column. It has pairs of columns, 8 apart, of
/// this row and of the 8th below it: sum[4 j + 2 half] and the next one.
__device__ __forceinline__ int first_row_of_thread() { return threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4; }
__device__ __forceinline__ int first_col_of_thread() { return threadIdx.x % 4 * 2; }

/// C = alpha sum + beta C, for a thread's elements of a warpgroup's 64 rows.
template <int kCols>
__device__ __forceinline__ void store_sums(const Output& out, int first_row, int first_col,
                                           const float (&sum)[kCols / 2]) {
  const int row = first_row + first_row_of_thread(), col = first_col + first_col_of_thread();
  if (out.pairs && out.beta == 0 && first_row + kRowsOfGroup <= out.m && first_col + kCols <= out.n) {
    // Without a test: with them the stores of a tile take as long as several steps in k.
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float* line = out.c + static_cast<std::size_t>(row + 8 * half) * out.ldc + col;
#pragma unroll
      for (int j = 0; j < kCols / 8; ++j)
        __stcs(reinterpret_cast<float2*>(line + 8 * j),
               make_float2(out.alpha * sum[4 * j + 2 * half], out.alpha * sum[4 * j + 2 * half + 1]));
    }
    return;
  }
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int y = row + 8 * half;
    if (y >= out.m) continue;
    float* line = out.c + static_cast<std::size_t>(y) * out.ldc;
#pragma unroll
    for (int j = 0; j < kCols / 8; ++j) {
      const int x = col + 8 * j;
      float2 pair = make_float2(out.alpha * sum[4 * j + 2 * half], out.alpha * sum[4 * j + 2 * half + 1]);
      if (out.pairs && x + 1 < out.n) {
        if (out.beta != 0) {
          const float2 old = *reinterpret_cast<const float2*>(line + x);
          pair.x += out.beta * old.x, pair.y += out.beta * old.y;
        }
        *reinterpret_cast<float2*>(line + x) = pair;
      } else {
        if (x < out.n) line[x] = out.beta == 0 ? pair.x : pair.x + out.beta * line[x];
        if (x + 1 < out.n) line[x + 1] = out.beta == 0 ? pair.y : pair.y + out.beta * line[x + 1];
      }
    }
  }
}

/// Writes a warpgroup's partial sums over the ring, whose last tiles have been multiplied.
template <Shape kShape>
__device__ __forceinline__ void leave_partial(std::uint32_t partial, int group, const float (&sum)[kShape.cols / 2]) {
  __syncwarp();
  named_barrier<1, kShape.groups * 128>();  // all warpgroups have read the ring
  const int row = group * kRowsOfGroup + first_row_of_thread();
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const std::uint32_t line = partial + ((row + 8 * half) * kShape.partial_pitch() + first_col_of_thread()) * 4;
#pragma unroll
    for (int j = 0; j < kShape.cols / 8; ++j)
      write_shared_pair(line + 32 * j, make_float2(sum[4 * j + 2 * half], sum[4 * j + 2 * half + 1]));
  }
}

/// Adds the partial sums of this block's share of a tile's rows, those of all parts in their order, so that results are
/// reproducible. The blocks of a part are `cluster` apart, beginning with `rank`.
template <Shape kShape>
__device__ __forceinline__ void add_partials(const Output& out, std::uint32_t partial, int first_row, int first_col,
                                             int part, int rank) {
  constexpr int kThreads = kShape.groups * 128, kRows = kShape.rows() / kShape.parts, kQuadsOfRow = kShape.cols / 4;
  constexpr int kQuads = kRows * kQuadsOfRow / kThreads;  // of a thread
  const auto row = [&](int i) { return part * kRows + (i * kThreads + static_cast<int>(threadIdx.x)) / kQuadsOfRow; };
  const int col = threadIdx.x % kQuadsOfRow * 4;  // in every row
  static_assert(kThreads % kQuadsOfRow == 0);
  float4 of[kQuads][kShape.parts];  // all on their way before the first is added
#pragma unroll
  for (int p = 0; p < kShape.parts; ++p) {
    const std::uint32_t there = address_in(p * kShape.cluster + rank, partial);
#pragma unroll
    for (int i = 0; i < kQuads; ++i) of[i][p] = read_cluster(there + (row(i) * kShape.partial_pitch() + col) * 4);
  }
  const int x = first_col + col;
#pragma unroll
  for (int i = 0; i < kQuads; ++i) {
    float sum[4] = {of[i][0].x, of[i][0].y, of[i][0].z, of[i][0].w};
#pragma unroll
    for (int p = 1; p < kShape.parts; ++p)
      sum[0] += of[i][p].x, sum[1] += of[i][p].y, sum[2] += of[i][p].z, sum[3] += of[i][p].w;
    const int y = first_row + row(i);
    if (y >= out.m) continue;
    float* to = out.c + static_cast<std::size_t>(y) * out.ldc + x;
    if (out.quads && out.beta == 0 && x + 3 < out.n) {
      *reinterpret_cast<float4*>(to) =
          make_float4(out.alpha * sum[0], out.alpha * sum[1], out.alpha * sum[2], out.alpha * sum[3]);
    } else {
#pragma unroll
      for (int e = 0; e < 4; ++e)
        if (x + e < out.n) to[e] = out.alpha * sum[e] + (out.beta == 0 ? 0 : out.beta * to[e]);
    }
  }
}

/// A warpgroup's share of each tile. Calls finish(place, sum) with the sums of each.
template <Type kType, Shape kShape, class Finish>
__device__ __forceinline__ void multiply(std::uint32_t tiles_at, std::uint32_t full, std::uint32_t empty,
                                         Tiles<kShape> tiles, Steps steps, int first_sharer, int group, Finish finish) {
  const int lane = threadIdx.x % 32;
  const auto release = [&](int read) {
    if constexpr (kShape.cluster > 1) {
      if (lane < kShape.cluster) barrier_arrive_at(empty + read * 8, first_sharer + lane);
    } else {
      if (lane == 0) barrier_arrive(empty + read * 8);
    }
  };
  int until_follow = 0;  // steps of the first warpgroup until the second one may begin
  if constexpr (kShape.lead > 0) {
    if (group == 0)
      until_follow = min(kShape.lead, steps.count);
    else
      named_barrier<2, 256>();
  }
  int stage = 0;
  std::uint32_t phase = 0;
  hopper::Place place;
  float sum[kShape.cols / 2];
  while (tiles.next(place)) {
    int previous = -1;
    if constexpr (kShape.parts > 1) {
      if (steps.count == 0)
#pragma unroll
        for (float& one : sum) one = 0;
    }
#pragma unroll 1
    for (int step = 0; step < steps.count; ++step) {
      barrier_wait(full + stage * 8, phase);
      const std::uint32_t a_at = tiles_at + stage * kShape.stage_bytes() + group * kRowsOfGroup * kDepth * 2;
      const std::uint32_t b_at = tiles_at + stage * kShape.stage_bytes() + kShape.a_bytes();
      wgmma_fence();
#pragma unroll
      for (int k = 0; k < kDepth; k += 16)
        wgmma_64<kType, kShape.cols>(sum, tile_descriptor(a_at + k * 2, 1024, 16),
                                     tile_descriptor(b_at + k * kBoxCols * 2, 1024, kBoxCols * kDepth * 2),
                                     step + k > 0);
      wgmma_commit();
      wgmma_wait<1>();  // the previous step has been multiplied
      if (previous >= 0) release(previous);
      previous = stage;
      if (++stage == kShape.stages) stage = 0, phase ^= 1;
      if constexpr (kShape.lead > 0)
        if (--until_follow == 0) named_arrive<2, 256>();
    }
    wgmma_wait<0>();
    if (previous >= 0) release(previous);
    finish(place, sum);
  }
}

/// Registers move from the loading threads to the multiplying ones where these have too few of their own. (The compiler
/// heeds that only if a block may have the whole multiprocessor.)
template <Shape kShape>
struct Registers {
  static constexpr int kEven = 65536 / (kShape.threads() * kShape.resident()) / 8 * 8;  // of a thread, at the start
  static constexpr bool kMoved = kShape.cols / 2 + 48 > kEven;  // too few for the sums and what is beside them
  static constexpr int kFew = kShape.groups == 2 && kShape.resident() == 1 ? 40 : 24;
  static constexpr int kMost = ((kShape.groups + 1) * kEven - kFew) / kShape.groups / 8 * 8;
  static constexpr int kMany = kMost < 248 ? kMost : 248;
  static_assert(!kMoved || kShape.resident() == 1);
};

template <Type kType, class Tile>
__global__ void __cluster_dims__(Tile::kShape.cluster_blocks(), 1, 1)
    __launch_bounds__(Tile::kShape.threads(), Tile::kShape.resident())
        matmul_wgmma(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
                     const Output out) {
  constexpr Shape kShape = Tile::kShape;
  constexpr bool kTogether = kShape.cluster_blocks() > 1;
  const std::uint32_t tiles_at = (shared_address(dynamic_shared<unsigned char>()) + 1023) & ~1023u;
  const std::uint32_t full = tiles_at + kShape.stages * kShape.stage_bytes(), empty = full + kShape.stages * 8;
  if (threadIdx.x == 0) {
    for (int s = 0; s < kShape.stages; ++s) {
      barrier_init(full + s * 8, 1);
      barrier_init(empty + s * 8, kShape.groups * 4 * kShape.cluster);
    }
    publish_barriers();
  }
  __syncthreads();
  if constexpr (kTogether) cluster_meeting();  // the other blocks' barriers are initialised, too
  if constexpr (kShape.early) {
    wait_for_previous_kernel();
    allow_next_kernel();
  }
  const int block = kTogether ? block_in_cluster() : 0, rank = block % kShape.cluster, part = block / kShape.cluster;
  const int first_sharer = part * kShape.cluster;
  const Tiles<kShape> tiles(out, rank);
  const int all_steps = (out.k + kDepth - 1) / kDepth, first_step = all_steps * part / kShape.parts;
  const Steps steps{first_step, all_steps * (part + 1) / kShape.parts - first_step};
  const int group = __shfl_sync(~0u, threadIdx.x / 128, 0);
  using Registers = wgmma::Registers<kShape>;
  if (group == kShape.groups) {
    if constexpr (Registers::kMoved) fewer_registers<Registers::kFew>();
    if (threadIdx.x % 128 < 32)
      load_tiles<kShape>(&map_a, &map_b, tiles_at, full, empty, tiles, steps,
                         static_cast<std::uint16_t>(((1 << kShape.cluster) - 1) << first_sharer));
    if constexpr (kShape.parts > 1) {
      __syncwarp();
      cluster_barrier();
    }
  } else {
    if constexpr (Registers::kMoved) more_registers<Registers::kMany>();
    multiply<kType, kShape>(tiles_at, full, empty, tiles, steps, first_sharer, group,
                            [&](const hopper::Place& place, const float(&sum)[Tile::kShape.cols / 2]) {
                              constexpr Shape kShape = Tile::kShape;
                              const int row = place.row * kShape.rows(), col = place.col * kShape.cols;
                              if constexpr (kShape.parts > 1) {
                                leave_partial<kShape>(tiles_at, group, sum);
                                cluster_barrier();  // all parts are there
                                add_partials<kShape>(out, tiles_at, row, col, part, rank);
                              } else {
                                store_sums<kShape.cols>(out, row + group * kRowsOfGroup, col, sum);
                              }
                            });
  }
  if constexpr (kTogether) {
    __syncwarp();
    cluster_meeting();  // no block ends while another one still uses its memory or arrives at its barriers
  }
}

inline namespace sm90a {

template <Type kType, class Tile>
void run(const Call& call) {
  constexpr Shape kShape = Tile::kShape;
  const auto g = general<Bits16, float, Bits16>(call);
  BoxedMatrix a{.at = g.a.at, .type = kType, .cols = g.k, .rows = g.m, .pitch = g.a.ld};
  a.box_cols = kDepth, a.box_rows = kShape.rows(), a.swizzle = CU_TENSOR_MAP_SWIZZLE_128B;
  BoxedMatrix b{.at = g.b.at, .type = kType, .cols = g.n, .rows = g.k, .pitch = g.b.ld};
  b.box_cols = kBoxCols, b.box_rows = kShape.box_rows(), b.swizzle = CU_TENSOR_MAP_SWIZZLE_128B;
  const Output out{.c = g.c,
                   .m = g.m,
                   .n = g.n,
                   .k = g.k,
                   .ldc = static_cast<int>(g.ldc),
                   .alpha = g.alpha,
                   .beta = g.beta,
                   .pairs = reinterpret_cast<std::uintptr_t>(g.c) % 8 == 0 && g.ldc % 2 == 0,
                   .quads = g.c_quads,
                   .group_rows = static_cast<int>(call.params.get("group_rows", 8))};
  launch_after(kShape.early, call, matmul_wgmma<kType, Tile>, tensor_map(a), tensor_map(b), out);
}

}  // namespace sm90a
}  // namespace rung::wgmma
