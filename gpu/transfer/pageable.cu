/// Copies of ordinary memory. The operating system may move its pages at any time, so the GPU cannot access them
/// directly: the driver copies them into or out of its own pinned buffer, with one core, and the engine copies that
/// buffer. Expect the rate at which a core copies memory, and nothing from a second stream, since the host takes part.
#include "gpu/transfer/copy_engines.hpp"

namespace rung {
namespace {

const bool added = add_gpu_kernel(copy_by_engine({
    .name = "gpu/transfer/pageable",
    .order = 10,
    .title = "pageable",
    .idea = "The driver stages ordinary memory through its own pinned buffer, with one core of the host.",
    .source = {{"harris2012transfers", "pinned host memory"}, {"blakely", "copying data"}},
}));

}  // namespace
}  // namespace rung
