/// A single instruction of one thread loads a whole tile (TMA), and an mbarrier signals its arrival: further stages of
/// tiles are in flight while one is used, and no computing thread copies, waits for a copy or holds addresses for it.
/// Four warps only issue loads, and release registers to the eight that compute.
/// A is transposed by a previous kernel, whose time is included.
/// Source: NVIDIA PTX ISA 8.0, cp.async.bulk.tensor and mbarrier; CUTLASS, warp specialisation.
#include "gpu/matmul/tma/engine/hopper.hpp"

namespace rung {
namespace hopper {
inline namespace RUNG_BUILD {

/// Each block has one tile of C; blocks are ordered along the rows of tiles.
struct OneTile {
  static constexpr bool kShares = false;
  int k_tiles;
  bool done = false;

  __device__ explicit OneTile(const Work& work) : k_tiles(work.k_tiles) {}
  __device__ int total() const { return k_tiles; }
  __device__ bool next(Piece& piece) {
    if (done) return false;
    piece = {static_cast<int>(blockIdx.x), 0, k_tiles};
    return done = true;
  }
  __device__ static Place place(int tile, int, int cols) { return {tile / cols, tile % cols}; }
};

}  // namespace RUNG_BUILD
}  // namespace hopper

namespace {

using Tile = hopper::Tile128x256;
constexpr hopper::Shape kShape = Tile::kShape;

const bool added = add_gpu_kernel({
    .name = "gpu/matmul/tma",
    .order = 170,
    .title = "TMA",
    .idea = "One instruction loads a tile into a ring of four stages; the computing warps only read it and multiply.",
    .source = {{"ptx-isa", "cp.async.bulk.tensor"}, {"cutlass", "warp specialisation"}},
    .is_general = true,
    .gpu = {
        .min_compute_capability = 90,
        .launch = [](const Params& p) { return hopper::launch_of(kShape, hopper::tiles_of(kShape, matmul_shape(p))); },
        .requested = [](const Params& p) { return hopper::traffic_of(kShape, p, {}); },
    },
    .run = [](const Call& call) { hopper::run<Tile, hopper::OneTile>(call, {}); },
});

}  // namespace
}  // namespace rung
