/// The library for comparison: CUB's reduction, in one or two launches, depending on the number of elements.
#include "gpu/simt/cub.hpp"
#include "gpu/simt/simt.hpp"

namespace rung {
namespace {

constexpr std::size_t kStorageBytes = 1 << 20;  // more than CUB requests: a sum per resident block

const bool added = add_gpu_kernel(cub_peer({
    .name = "gpu/sum/cub",
    .source = {{"cub", "DeviceReduce"}},
    .scratch = [](const Params&) { return cub_storage(kStorageBytes); },
    .run = [](const Call& call) { cub_sum(call, kStorageBytes); },
}));

}  // namespace
}  // namespace rung
