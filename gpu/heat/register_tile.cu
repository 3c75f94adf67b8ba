/// Each lane loads float4s of two rows, and of the rows above and below, into registers, and exchanges its outer
/// columns with its neighbours by shuffles: no shared memory, no barrier. With several 16-byte loads in flight per
/// thread, expect the bandwidth of a copy. Source: PMPP 4e, section 8.5 (register tiling for stencils); NVIDIA CUDA C++
/// Programming Guide, warp shuffles.
#include "gpu/heat/register_tile.hpp"

namespace rung {
namespace {

using Rows = Choices<2, 1, 4, 8>;

const bool added = add_gpu_kernel({
    .name = "gpu/heat/register_tile",
    .order = 30,
    .title = "register tile",
    .idea = "Each lane keeps float4s of a few rows in registers; columns of its neighbours come by shuffles.",
    .source = {{"pmpp", "section 8.5"}, {"cuda-guide", "warp shuffle functions"}},
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
