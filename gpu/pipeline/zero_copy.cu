/// No copies: the kernel loads its elements from the host's memory and stores the results there. Every warp's load
/// waits for the link, while other warps calculate: the three stages overlap automatically, in one launch. Floor: the
/// slower of the link and the arithmetic.
#include "gpu/pipeline/steps.hpp"

namespace rung {
namespace {

const bool added = add_gpu_kernel({
    .name = "gpu/pipeline/zero_copy",
    .order = 30,
    .title = "zero copy",
    .idea = "One launch loads from the host's memory and stores to it, and warps that calculate hide those that wait.",
    .source = {{"cuda-best-practices", "zero copy"}},
    .gpu =
        {
            .pins_host = true,
            .launch = [](const Params& p) { return launch_of(p.at("n")); },
            .requested = steps_traffic,
        },
    .run =
        [](const Call& call) {
          launch(call, take_steps, call.operand<const mem<float>>(0), call.operand<const mem<float>>(1),
                 call.operand<mem<float>>(2), call.params.at("n"), static_cast<int>(call.params.at("steps")));
        },
});

}  // namespace
}  // namespace rung
