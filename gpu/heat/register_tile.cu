/// A lane has quads of two rows and those above and below in registers, and hands its outer columns to its neighbours
/// by shuffles: no shared memory, no barrier. Each row is asked for in accesses of 16 bytes, and with several on the
/// way for each thread the kernel should run at the rate of a copy.
/// Source: Volkov and Demmel 2008 (registers in place of shared memory); NVIDIA CUDA C++ Programming Guide, warp
/// shuffle functions.
#include "gpu/heat/register_tile.hpp"

namespace rung {
namespace {

using Rows = Choices<2, 1, 4, 8>;

const bool added = add_gpu_kernel({
    .name = "gpu/heat/register_tile",
    .order = 30,
    .title = "register tile",
    .idea = "Each lane keeps quads of a few rows in registers; neighbouring columns come by shuffles.",
    .source = {{"volkov2008"}, {"cuda-guide", "warp shuffle functions"}},
    .tunables = {{"rows", Rows::values()}},
    .scratch = one_step_scratch,
    .gpu = {
        .launch = [](const Params& p) { return register_tile_launch(p, static_cast<int>(p.at("rows"))); },
        .requested =
            [](const Params& p) { return one_step_traffic(p, register_tile_loads(p, static_cast<int>(p.at("rows")))); },
    },
    .run =
        [](const Call& call) {
          Rows::pick(call.params.at("rows"), [&](auto rows) { run_steps(call, register_tile<rows>(call.params)); });
        },
});

}  // namespace
}  // namespace rung
