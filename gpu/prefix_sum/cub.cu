/// The library for comparison: CUB's scan, which also looks back in one pass, with parameters tuned for each GPU. It
/// clears the tiles' words in a separate launch.
#include "gpu/simt/cub.hpp"
#include "gpu/simt/simt.hpp"

namespace rung {
namespace {

/// More than CUB requests: 8 bytes per tile of at least 512 elements.
std::size_t storage_bytes(const Params& p) { return (std::size_t{1} << 16) + p.at("n") / 512 * 8; }

const bool added = add_gpu_kernel(cub_peer({
    .name = "gpu/prefix_sum/cub",
    .source = {{"cub", "DeviceScan"}},
    .scratch = [](const Params& p) { return cub_storage(storage_bytes(p)); },
    .run = [](const Call& call) { cub_prefix_sum(call, storage_bytes(call.params)); },
}));

}  // namespace
}  // namespace rung
