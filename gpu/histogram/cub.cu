/// The library for comparison: CUB's histogram with 256 bins of width 1.
#include "gpu/simt/cub.hpp"
#include "gpu/simt/simt.hpp"

namespace rung {
namespace {

constexpr std::size_t kStorageBytes = 16 << 20;  // more than CUB requests: a histogram per resident block

const bool added = add_gpu_kernel(cub_peer({
    .name = "gpu/histogram/cub",
    .source = {{"cub", "DeviceHistogram"}},
    .type = Type::int8,
    .scratch = [](const Params&) { return cub_storage(kStorageBytes); },
    .run = [](const Call& call) { cub_histogram(call, kStorageBytes); },
}));

}  // namespace
}  // namespace rung
