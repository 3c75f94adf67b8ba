/// Copies of pinned memory, whose pages stay where they are: an engine of the GPU moves the bytes and the host is free.
/// Floor: bytes over the link's rate, for PCIe without the packets' headers; twice that rate in both directions at
/// once, since each has an engine and the link carries both.
#include "gpu/transfer/copy_engines.hpp"

namespace rung {
namespace {

const bool added = add_gpu_kernel(copy_by_engine({
    .name = "gpu/transfer/pinned",
    .order = 20,
    .title = "pinned",
    .idea = "An engine of the GPU copies pages that stay in their place, on request in both directions at once.",
    .source = {{"harris2012transfers", "pinned host memory"}, {"cuda-best-practices", "pinned memory"}},
    .gpu = {.pins_host = true},
}));

}  // namespace
}  // namespace rung
