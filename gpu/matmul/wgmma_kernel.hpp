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
  bool pairs;  // C's rows begin at multiples of 8 bytes
};

/// The tiles of a block, one after the other; those of a cluster's blocks are one below the other.
template <Shape kShape>
struct Tiles {
  int rows, cols, tile, rank;  // rows and tiles of clusters
  __device__ Tiles(int rows_, int cols_, int rank_)
      : rows(rows_), cols(cols_), tile(blockIdx.x / kShape.cluster), rank(rank_) {}
  __device__ bool next(hopper::Place& place) {
    if (tile >= rows * cols) return false;
    place = grouped_place(tile, rows, cols);
    place.row = place.row * kShape.cluster + rank;
    tile = kShape.persistent ? tile + gridDim.x / kShape.cluster : rows * cols;
    return true;
  }
};

/// One thread issues all loads.
template <Shape kShape>
__device__ __forceinline__ void load_tiles(const CUtensorMap* map_a, const CUtensorMap* map_b, std::uint32_t tiles_at,
                                           std::uint32_t full, std::uint32_t empty, Tiles<kShape> tiles, int steps) {
  int stage = 0;
  std::uint32_t phase = 1;  // all stages are empty at first
  hopper::Place place;
  while (tiles.next(place)) {
    const int row = place.row * kShape.rows(), col = place.col * kCols;
#pragma unroll 1
    for (int step = 0; step < steps; ++step) {
      const std::uint32_t a_at = tiles_at + stage * kShape.stage_bytes(), b_at = a_at + kShape.a_bytes();
      const std::uint32_t barrier = full + stage * 8;
      barrier_wait(empty + stage * 8, phase);
      if (elect_one()) {
        barrier_expect(barrier, kShape.stage_bytes());
        tma_load(a_at, map_a, barrier, step * kDepth, row);
        constexpr int kBoxes = kCols / kBoxCols / kShape.cluster;  // of B that this block loads
#pragma unroll
        for (int i = 0; i < kBoxes; ++i) {
          const int box = tiles.rank * kBoxes + i, to = b_at + box * kBoxCols * kDepth * 2;
          if constexpr (kShape.cluster > 1)
            tma_multicast(to, map_b, barrier, col + box * kBoxCols, step * kDepth, (1 << kShape.cluster) - 1);
          else
            tma_load(to, map_b, barrier, col + box * kBoxCols, step * kDepth);
        }
      }
      if (++stage == kShape.stages) stage = 0, phase ^= 1;
    }
  }
}

/// C = alpha sum + beta C, for a thread's elements of a warpgroup's 64 x 256.
__device__ __forceinline__ void store_sums(const Output& out, int first_row, int first_col, const float (&sum)[128]) {
  const int thread = threadIdx.x % 128, lane = thread % 32;
  const int row = first_row + thread / 32 * 16 + lane / 4, col = first_col + lane % 4 * 2;
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

/// A warpgroup's share of each tile.
template <Type kType, Shape kShape>
__device__ __forceinline__ void multiply(const Output& out, std::uint32_t tiles_at, std::uint32_t full,
                                         std::uint32_t empty, Tiles<kShape> tiles, int steps, int group) {
  const int lane = threadIdx.x % 32;
  const auto release = [&](int read) {
    if constexpr (kShape.cluster > 1) {
      if (lane < kShape.cluster) barrier_arrive_at(empty + read * 8, lane);
    } else {
      if (lane == 0) barrier_arrive(empty + read * 8);
    }
  };
  int stage = 0;
  std::uint32_t phase = 0;
  hopper::Place place;
  float sum[128];
  while (tiles.next(place)) {
    int previous = -1;
#pragma unroll 1
    for (int step = 0; step < steps; ++step) {
      barrier_wait(full + stage * 8, phase);
      const std::uint32_t a_at = tiles_at + stage * kShape.stage_bytes() + group * kRowsOfGroup * kDepth * 2;
      const std::uint32_t b_at = tiles_at + stage * kShape.stage_bytes() + kShape.a_bytes();
      wgmma_fence();
#pragma unroll
      for (int k = 0; k < kDepth; k += 16)
        wgmma_64x256<kType>(sum, tile_descriptor(a_at + k * 2, 1024, 16),
                            tile_descriptor(b_at + k * kBoxCols * 2, 1024, kBoxCols * kDepth * 2), step + k > 0);
      wgmma_commit();
      wgmma_wait<1>();  // the previous step has been multiplied
      if (previous >= 0) release(previous);
      previous = stage;
      if (++stage == kShape.stages) stage = 0, phase ^= 1;
    }
    wgmma_wait<0>();
    if (previous >= 0) release(previous);
    store_sums(out, place.row * kShape.rows() + group * kRowsOfGroup, place.col * kCols, sum);
  }
}

template <Type kType, int kGroups, int kStages, bool kPersistent, int kCluster>
__global__ void __cluster_dims__(kCluster, 1, 1) __launch_bounds__((kGroups + 1) * 128, 1)
    matmul_wgmma(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
                 const Output out) {
  constexpr Shape kShape{kGroups, kStages, kPersistent, kCluster};
  const std::uint32_t tiles_at = (shared_address(dynamic_shared<unsigned char>()) + 1023) & ~1023u;
  const std::uint32_t full = tiles_at + kStages * kShape.stage_bytes(), empty = full + kStages * 8;
  if (threadIdx.x == 0) {
    for (int s = 0; s < kStages; ++s) {
      barrier_init(full + s * 8, 1);
      barrier_init(empty + s * 8, kGroups * 4 * kCluster);
    }
    publish_barriers();
  }
  __syncthreads();
  if constexpr (kCluster > 1) cluster_barrier();  // the other block's barriers are initialised, too
  constexpr int kRows = kShape.rows() * kCluster;
  const Tiles<kShape> tiles((out.m + kRows - 1) / kRows, (out.n + kCols - 1) / kCols,
                            kCluster > 1 ? block_in_cluster() : 0);
  const int steps = (out.k + kDepth - 1) / kDepth;
  const int group = __shfl_sync(~0u, threadIdx.x / 128, 0);
  if (group == kGroups) {
    fewer_registers<kGroups == 1 ? 56 : 40>();
    if (threadIdx.x % 128 < 32) load_tiles<kShape>(&map_a, &map_b, tiles_at, full, empty, tiles, steps);
  } else {
    more_registers<kGroups == 1 ? 256 - 8 : 232>();
    multiply<kType, kShape>(out, tiles_at, full, empty, tiles, steps, group);
  }
  if constexpr (kCluster > 1) {
    __syncwarp();
    cluster_barrier();  // no block ends while the other one still writes to its memory or arrives at its barriers
  }
}

inline namespace sm90a {

template <Type kType, int kGroups, int kStages, bool kPersistent, int kCluster>
void run(const Call& call) {
  constexpr Shape kShape{kGroups, kStages, kPersistent, kCluster};
  const auto g = general<Bits16, float, Bits16>(call);
  BoxedMatrix a{.at = g.a.at, .type = kType, .cols = g.k, .rows = g.m, .pitch = g.a.ld};
  a.box_cols = kDepth, a.box_rows = kShape.rows(), a.swizzle = CU_TENSOR_MAP_SWIZZLE_128B;
  BoxedMatrix b{.at = g.b.at, .type = kType, .cols = g.n, .rows = g.k, .pitch = g.b.ld};
  b.box_cols = kBoxCols, b.box_rows = kDepth, b.swizzle = CU_TENSOR_MAP_SWIZZLE_128B;
  const Output out{.c = g.c,
                   .m = g.m,
                   .n = g.n,
                   .k = g.k,
                   .ldc = static_cast<int>(g.ldc),
                   .alpha = g.alpha,
                   .beta = g.beta,
                   .pairs = reinterpret_cast<std::uintptr_t>(g.c) % 8 == 0 && g.ldc % 2 == 0};
  launch(call, matmul_wgmma<kType, kGroups, kStages, kPersistent, kCluster>, tensor_map(a), tensor_map(b), out);
}

}  // namespace sm90a
}  // namespace rung::wgmma
