/// The rungs for compute capability 9.0: the shape of a compiled kernel, the plan of a call, and its launch. A rung is
/// a shape and a schedule (hopper_schedule.hpp); the kernel itself is in hopper_kernel.hpp.
///
/// TMA loads tiles, each with a single instruction, into a ring of stages in shared memory guarded by mbarriers, so
/// that the computing warps issue almost only LDS.128 and FFMA; where not all rows begin at multiples of 16 bytes, the
/// loading warps copy elements. Sources: NVIDIA PTX ISA 8.0 (cp.async.bulk.tensor, cp.async.mbarrier.arrive, mbarrier,
/// setmaxnreg); CUTLASS, warp-specialised persistent kernels; Osama and others, Stream-K, PPoPP 2023.
#pragma once

#include <algorithm>

#include "common/machine/device_facts.hpp"
#include "common/problem/matmul.hpp"
#include "gpu/matmul/tma/engine/hopper_schedule.hpp"
#include "gpu/simt/simt.hpp"

namespace rung::hopper {

/// The lanes of a warp are arranged in rows and columns over its tile.
constexpr int kLanesDown = 8, kLanesAcross = 4;

/// The shape of one compiled kernel.
struct Shape {
  int rows, cols;                ///< elements of C that a thread computes
  int warps_down, warps_across;  ///< warps that compute one tile of C
  int slices;         ///< groups of such warps that split the steps in k of a stage; their sums are added at the end
  int depth, stages;  ///< steps in k of a stage; stages of the ring
  int loaders;        ///< warps that issue the loads, round-robin; 4 can release registers to the others
  bool transposed;    ///< A is transposed to [k][m] by a previous kernel; else it is loaded as [m][k], swizzled by TMA
  int unroll;         ///< steps in k in the body of the inner loop
  int gap;            ///< FFMAs between two reads from shared memory

  __host__ __device__ constexpr int block_rows() const { return rows * kLanesDown * warps_down; }
  __host__ __device__ constexpr int block_cols() const { return cols * kLanesAcross * warps_across; }
  __host__ __device__ constexpr int slice_threads() const { return warps_down * warps_across * 32; }
  __host__ __device__ constexpr int computing() const { return slice_threads() * slices; }
  __host__ __device__ constexpr int threads() const { return computing() + loaders * 32; }
  __host__ __device__ constexpr int stage_a() const { return block_rows() * depth; }  // elements
  __host__ __device__ constexpr int stage_b() const { return block_cols() * depth; }
  __host__ __device__ constexpr int stage_bytes() const { return (stage_a() + stage_b()) * 4; }
  __host__ __device__ constexpr int scratch_bytes() const { return slices / 2 * block_rows() * block_cols() * 4; }
  /// The ring, its alignment to TMA's swizzle, two mbarriers per stage, and the scratch in which slices are added.
  __host__ __device__ constexpr int shared_bytes() const {
    return stages * stage_bytes() + scratch_bytes() + 1024 + 256;
  }

  __host__ __device__ constexpr bool is_possible() const {
    const bool sliced = slices == 1 || (unroll * slices == depth && (slices & (slices - 1)) == 0);
    const bool swizzled = transposed || depth == 8 || depth == 16 || depth == 32;
    return rows % 4 == 0 && cols % 4 == 0 && depth % unroll == 0 && unroll % 4 == 0 && loaders <= stages && sliced &&
           swizzled && gap % 8 == 0 && stage_a() % 256 == 0 && stage_b() % 256 == 0 && block_rows() <= 256 &&
           block_cols() <= 256;
  }
};

// The compiled tiles. They are types, since not every compiler accepts objects as template arguments of a kernel.

/// 8 warps of 64 x 64 elements of C each, with 240 registers per thread.
struct Tile128x256 {
  static constexpr Shape kShape{.rows = 8,
                                .cols = 16,
                                .warps_down = 2,
                                .warps_across = 4,
                                .slices = 1,
                                .depth = 32,
                                .stages = 4,
                                .loaders = 4,
                                .transposed = true,
                                .unroll = 8,
                                .gap = 16};
};
// For C with few tiles: with 2 to 8 slices a multiprocessor has as many warps as with a large tile.
struct Tile128x128 {
  static constexpr Shape kShape{.rows = 8,
                                .cols = 16,
                                .warps_down = 2,
                                .warps_across = 2,
                                .slices = 2,
                                .depth = 16,
                                .stages = 9,
                                .loaders = 4,
                                .transposed = false,
                                .unroll = 8,
                                .gap = 24};
};
struct Tile128x64 {
  static constexpr Shape kShape{.rows = 8,
                                .cols = 16,
                                .warps_down = 2,
                                .warps_across = 1,
                                .slices = 4,
                                .depth = 32,
                                .stages = 5,
                                .loaders = 4,
                                .transposed = false,
                                .unroll = 8,
                                .gap = 24};
};
struct Tile64x128 {
  static constexpr Shape kShape{.rows = 8,
                                .cols = 16,
                                .warps_down = 1,
                                .warps_across = 2,
                                .slices = 4,
                                .depth = 32,
                                .stages = 5,
                                .loaders = 4,
                                .transposed = false,
                                .unroll = 8,
                                .gap = 24};
};
struct Tile64x32 {
  static constexpr Shape kShape{.rows = 4,
                                .cols = 8,
                                .warps_down = 2,
                                .warps_across = 1,
                                .slices = 8,
                                .depth = 32,
                                .stages = 6,
                                .loaders = 4,
                                .transposed = false,
                                .unroll = 4,
                                .gap = 8};
};
struct Tile32x32 {
  static constexpr Shape kShape{.rows = 4,
                                .cols = 8,
                                .warps_down = 1,
                                .warps_across = 1,
                                .slices = 4,
                                .depth = 32,
                                .stages = 6,
                                .loaders = 1,
                                .transposed = false,
                                .unroll = 8,
                                .gap = 8};
};

/// How a call divides the work among blocks; the members have the same meaning as in Work.
struct Plan {
  int parts = 1;
  bool share = false;
};

inline std::int64_t padded(std::int64_t n) { return (n + 3) / 4 * 4; }
inline std::int64_t tiles_of(const Shape& s, const MatmulShape& p) {
  return std::int64_t{blocks_for(p.m, s.block_rows())} * blocks_for(p.n, s.block_cols());
}
inline int k_tiles_of(const Shape& s, const MatmulShape& p) { return static_cast<int>(blocks_for(p.k, s.depth)); }

/// The number of parts into which k is split for each tile, so that every multiprocessor has one: 1 if there are many
/// tiles or k is short.
inline int parts_for(const Shape& s, const MatmulShape& p) {
  const std::int64_t sms = gpu_facts().sm_count;
  return static_cast<int>(std::clamp<std::int64_t>(sms / tiles_of(s, p), 1, k_tiles_of(s, p)));
}

inline Launch launch_of(const Shape& s, std::int64_t blocks) {
  return {{static_cast<unsigned>(blocks)}, {static_cast<unsigned>(s.threads())}, std::size_t(s.shared_bytes())};
}

/// One block per multiprocessor, but no more than there are pieces of work.
inline Launch persistent_launch(const Shape& s, const MatmulShape& p, const Plan& plan) {
  const std::int64_t tiles = tiles_of(s, p);
  if (plan.parts > 1) return launch_of(s, tiles * plan.parts);
  return launch_of(s, std::min<std::int64_t>(gpu_facts().sm_count, plan.share ? tiles * k_tiles_of(s, p) : tiles));
}

/// Partial tiles that are exchanged if the last wave is shared: one for each block whose share begins within a tile.
inline std::int64_t partial_tiles(const Shape& s, const MatmulShape& p, const Plan& plan) {
  const std::int64_t tiles = tiles_of(s, p), k_tiles = k_tiles_of(s, p);
  const std::int64_t blocks = persistent_launch(s, p, plan).grid.x;
  if (!plan.share || tiles % blocks == 0) return 0;
  const std::int64_t units = (tiles - std::max<std::int64_t>(0, tiles / blocks - 1) * blocks) * k_tiles;
  std::int64_t partial = 0;
  for (std::int64_t block = 0; block < blocks; ++block) partial += units * block / blocks % k_tiles != 0;
  return partial;
}

/// Requested bytes: for the tiles, for transposing A, and for partial sums.
inline Traffic traffic_of(const Shape& s, const Params& params, const Plan& plan) {
  const MatmulShape p = matmul_shape(params);
  const double c = 4.0 * p.m * p.n, beta_c = params.get("beta", 0) == 0 ? 0 : c;
  if (params.get("alpha", 1) == 0) return {.loaded = beta_c, .stored = c};
  const double a = 4.0 * p.m * p.k, b = 4.0 * p.k * p.n;
  const double loaded_a = s.transposed ? a : 0;
  const double stored_a = s.transposed ? 4.0 * p.k * static_cast<double>(padded(p.m)) : 0;  // in whole float4s
  const double parts = plan.parts > 1 ? plan.parts : 0;
  const double planes = parts * 4 * p.m * static_cast<double>(padded(p.n));  // read in whole float4s
  const double partial = 4.0 * s.block_rows() * s.block_cols() * static_cast<double>(partial_tiles(s, p, plan));
  const double tiles = a * blocks_for(p.n, s.block_cols()) + b * blocks_for(p.m, s.block_rows());
  return {.loaded = loaded_a + tiles + planes + partial + beta_c, .stored = stored_a + parts * c + partial + c};
}

}  // namespace rung::hopper

#include "gpu/matmul/tma/engine/hopper_kernel.hpp"

namespace rung::hopper {

extern template void run<Tile128x256, StreamK>(const Call&, const Plan&);  // in stream_k.sm90a.O1.cu

}  // namespace rung::hopper
