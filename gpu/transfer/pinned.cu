/// Copies of pinned memory, whose pages stay where they are: an engine of the GPU moves the bytes and the host is free.
/// Floor: bytes over the link's rate, of PCIe what its packets leave of it; both ways at once twice that, since there
/// is an engine for each and the link carries both.
#include "gpu/transfer/copy_engines.hpp"

namespace rung {
namespace {

const bool added = add_gpu_kernel(copy_by_engine({
    .name = "gpu/transfer/pinned",
    .order = 20,
    .title = "pinned",
    .idea = "Pages that stay in their place are copied by an engine of the GPU, both ways at once if asked to.",
    .source = {{"harris2012transfers", "pinned host memory"}, {"cuda-best-practices", "pinned memory"}},
    .gpu = {.pins_host = true},
}));

}  // namespace
}  // namespace rung
