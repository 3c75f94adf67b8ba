/// One block per multiprocessor runs to the end, and block b computes the tiles b, b + blocks, b + 2 blocks …: the ring
/// of stages fills for the next tile while the previous one is still multiplied and stored. Tiles are ordered in groups
/// of 8 rows, column by column, so that the blocks that run together share rows of A and columns of B in L2. Source:
/// CUTLASS, persistent kernels and threadblock swizzling.
#include "gpu/matmul/tma/engine/hopper.hpp"

namespace rung {
namespace {

using Tile = hopper::Tile128x256;
constexpr hopper::Shape kShape = Tile::kShape;

const bool added = add_gpu_kernel({
    .name = "gpu/matmul/persistent",
    .order = 180,
    .title = "persistent",
    .idea = "Each block computes many tiles, overlapping one with the next, in an order that keeps shared data in L2.",
    .source = {{"cutlass", "persistent kernels, threadblock swizzling"}},
    .is_general = true,
    .gpu = {
        .min_compute_capability = 90,
        .launch = [](const Params& p) { return hopper::persistent_launch(kShape, matmul_shape(p), {}); },
        .requested = [](const Params& p) { return hopper::traffic_of(kShape, p, {}); },
    },
    .run = [](const Call& call) { hopper::run<Tile, hopper::StreamK>(call, {}); },
});

}  // namespace
}  // namespace rung
