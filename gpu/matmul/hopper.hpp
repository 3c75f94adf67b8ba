/// The rungs that need compute capability 9.0: what a compiled kernel's shape is, how its blocks share out the tiles of
/// C, what is launched. A rung is a shape and a schedule; the kernel itself is in hopper_kernel.hpp.
///
/// Tiles come by TMA, a whole tile an instruction, through a ring of stages in shared memory that mbarriers guard, so
/// that the computing warps issue almost only LDS.128 and FFMA. Sources: NVIDIA PTX ISA 8.0 (cp.async.bulk.tensor,
/// mbarrier, setmaxnreg); CUTLASS, warp-specialised persistent kernels; Osama and others, Stream-K, PPoPP 2023.
#pragma once

#include <algorithm>

#include "common/problem/matmul.hpp"
#include "gpu/device_facts.hpp"
#include "gpu/simt/simt.hpp"

namespace rung::hopper {

inline constexpr const char* kNotEmulated = "TMA, mbarriers and setmaxnreg are instructions of compute capability 9.0";

/// The lanes of a warp, as rows and columns of its tile.
constexpr int kLanesDown = 8, kLanesAcross = 4;

/// The shape of one compiled kernel.
struct Shape {
  int rows, cols;                ///< elements of C that a thread computes
  int warps_down, warps_across;  ///< warps that compute one tile of C
  int slices;         ///< groups of such warps that share out the steps in k of a stage, and add up in the end
  int depth, stages;  ///< steps in k of a stage; stages of the ring
  int loaders;        ///< warps that issue the loads, in turn; 4 can give up registers for the others
  bool turned;        ///< A comes transposed, as [k][m], from a kernel before; else as [m][k] in TMA's swizzle
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
  /// The ring, its alignment to TMA's swizzle, two mbarriers a stage, and where slices add up.
  __host__ __device__ constexpr int shared_bytes() const {
    return stages * stage_bytes() + scratch_bytes() + 1024 + 256;
  }

  __host__ __device__ constexpr bool is_possible() const {
    const bool sliced = slices == 1 || (unroll * slices == depth && (slices & (slices - 1)) == 0);
    const bool swizzled = turned || depth == 8 || depth == 16 || depth == 32;
    return rows % 4 == 0 && cols % 4 == 0 && depth % unroll == 0 && unroll % 4 == 0 && loaders <= stages && sliced &&
           swizzled && gap % 8 == 0 && stage_a() % 256 == 0 && stage_b() % 256 == 0 && block_rows() <= 256 &&
           block_cols() <= 256;
  }
};

/// The compiled tiles are types, since a kernel's parameters cannot be objects everywhere.
/// 8 warps of 64 x 64 elements of C, at 240 registers a thread.
struct Tile128x256 {
  static constexpr Shape kShape{.rows = 8,
                                .cols = 16,
                                .warps_down = 2,
                                .warps_across = 4,
                                .slices = 1,
                                .depth = 32,
                                .stages = 4,
                                .loaders = 4,
                                .turned = true,
                                .unroll = 8,
                                .gap = 16};
};
// For C with few tiles: 4 or 8 slices give a multiprocessor as many warps as a large tile would.
struct Tile64x128 {
  static constexpr Shape kShape{.rows = 8,
                                .cols = 16,
                                .warps_down = 1,
                                .warps_across = 2,
                                .slices = 4,
                                .depth = 32,
                                .stages = 5,
                                .loaders = 4,
                                .turned = false,
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
                                .turned = false,
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
                                .turned = false,
                                .unroll = 8,
                                .gap = 8};
};

/// The work of a launch, in tiles of C and, along k, in stages.
struct Work {
  int tiles, k_tiles;
  int parts;   ///< of each tile along k, each into a plane of its own
  bool share;  ///< the tiles of the last, partial wave are shared out among all blocks
};

/// What a block does next: a tile of C, and of it `length` stages from k0 on.
struct Piece {
  int tile, k0, length;
};

struct Place {
  int row, col;  ///< in tiles
};

/// Tile after tile in groups of 8 rows of tiles, column by column: the blocks that run at the same time need few rows
/// of A and columns of B, which L2 then holds for all of them.
__device__ __forceinline__ Place grouped_place(int tile, int rows, int cols) {
  constexpr int kGroup = 8;
  const int group = tile / (kGroup * cols);
  const int height = min(kGroup, rows - group * kGroup);
  const int within = tile - group * kGroup * cols;
  return {group * kGroup + within % height, within / height};
}

/// How a call is to be computed.
struct Plan {
  int parts = 1;
  bool share = false;
};

inline std::int64_t padded(std::int64_t n) { return (n + 3) / 4 * 4; }
inline std::int64_t tiles_of(const Shape& s, const MatmulShape& p) {
  return std::int64_t{blocks_for(p.m, s.block_rows())} * blocks_for(p.n, s.block_cols());
}
inline int k_tiles_of(const Shape& s, const MatmulShape& p) { return static_cast<int>(blocks_for(p.k, s.depth)); }

/// Parts along k of each tile, so that all multiprocessors have one: 1 where the tiles are many or k is short.
inline int parts_for(const Shape& s, const MatmulShape& p) {
  const std::int64_t sms = gpu_facts().sm_count;
  return static_cast<int>(std::clamp<std::int64_t>(sms / tiles_of(s, p), 1, k_tiles_of(s, p)));
}

inline Launch launch_of(const Shape& s, std::int64_t blocks) {
  return {{static_cast<unsigned>(blocks)}, {static_cast<unsigned>(s.threads())}, std::size_t(s.shared_bytes())};
}

/// As many blocks as there are multiprocessors, at most one for each piece of work.
inline Launch persistent_launch(const Shape& s, const MatmulShape& p, const Plan& plan) {
  const std::int64_t tiles = tiles_of(s, p);
  if (plan.parts > 1) return launch_of(s, tiles * plan.parts);
  return launch_of(s, std::min<std::int64_t>(gpu_facts().sm_count, plan.share ? tiles * k_tiles_of(s, p) : tiles));
}

/// Partial tiles that blocks give to others where the last wave is shared: each block whose share begins within a tile.
inline std::int64_t given_tiles(const Shape& s, const MatmulShape& p, const Plan& plan) {
  const std::int64_t tiles = tiles_of(s, p), k_tiles = k_tiles_of(s, p);
  const std::int64_t blocks = persistent_launch(s, p, plan).grid.x;
  if (!plan.share || tiles % blocks == 0) return 0;
  const std::int64_t units = (tiles - std::max<std::int64_t>(0, tiles / blocks - 1) * blocks) * k_tiles;
  std::int64_t given = 0;
  for (std::int64_t block = 0; block < blocks; ++block) given += units * block / blocks % k_tiles != 0;
  return given;
}

/// Requested bytes: the tiles, A transposed or B copied before (where TMA cannot read it as it is), partial sums.
inline Traffic traffic_of(const Shape& s, const Params& params, const Plan& plan) {
  const MatmulShape p = matmul_shape(params);
  const double c = 4.0 * p.m * p.n, beta_c = params.get("beta", 0) == 0 ? 0 : c;
  if (params.get("alpha", 1) == 0) return {.loaded = beta_c, .stored = c};
  const auto odd = [&](const char* ld, std::int64_t width) {
    return params.get(ld, width) % 4 != 0 || params.get("shift", 0) % 4 != 0;
  };
  const double a = 4.0 * p.m * p.k, b = 4.0 * p.k * p.n;
  const double before = (s.turned || odd("lda", p.k) ? a : 0) + (odd("ldb", p.n) ? b : 0);
  const double planes = plan.parts > 1 ? c * plan.parts : 0;
  const double given = 4.0 * s.block_rows() * s.block_cols() * static_cast<double>(given_tiles(s, p, plan));
  const double tiles = a * blocks_for(p.n, s.block_cols()) + b * blocks_for(p.m, s.block_rows());
  return {.loaded = before + tiles + planes + given + beta_c, .stored = before + planes + given + c};
}

}  // namespace rung::hopper

#if defined(RUNG_SM90A)  // set where a file is compiled with nvcc for sm_90a
#include "gpu/matmul/hopper_kernel.hpp"
#else
namespace rung::hopper {
inline namespace absent {  // a name of its own: the emulator's builds of the same file are linked beside the GPU's

template <class Tile, class Schedule>
void run(const Call&, const Plan&) {
  throw Error("this program has no code for sm_90a: build it with CUDA 12 or later and CMAKE_CUDA_ARCHITECTURES=90");
}

}  // namespace absent
}  // namespace rung::hopper
#endif
