/// Tiles rarely fill a whole number of waves, and if there are few, most multiprocessors have none. So the last tiles
/// are divided along k: stream-K if there is more than a wave, split-K if there is less than half of one. Partial sums
/// of a tile go through memory and are added in a fixed order, so that results are reproducible. Source: Osama,
/// Merrill, Cecka, Garland, Owens: Stream-K, PPoPP 2023.
#include "gpu/matmul/tma/engine/hopper.hpp"

namespace rung {

template void hopper::run<hopper::Tile128x256, hopper::StreamK>(const Call&, const hopper::Plan&);

namespace {

using Tile = hopper::Tile128x256;
constexpr hopper::Shape kShape = Tile::kShape;

hopper::Plan plan_of(const Params& p) {
  const MatmulShape shape = matmul_shape(p);
  const int parts = hopper::parts_for(kShape, shape);
  return {.parts = parts, .share = parts == 1};
}

const bool added = add_gpu_kernel({
    .name = "gpu/matmul/stream_k",
    .order = 190,
    .title = "stream-K",
    .idea = "The last tiles are divided along k, so that no multiprocessor is idle; partial sums go through memory.",
    .source = {{"osama2023"}},
    .is_general = true,
    .gpu = {
        .min_compute_capability = 90,
        .launch = [](const Params& p) { return hopper::persistent_launch(kShape, matmul_shape(p), plan_of(p)); },
        .requested = [](const Params& p) { return hopper::traffic_of(kShape, p, plan_of(p)); },
    },
    .run = [](const Call& call) { hopper::run<Tile, hopper::StreamK>(call, plan_of(call.params)); },
});

}  // namespace
}  // namespace rung
