/// The two passes over pieces that fit into a core's L2 cache: the second pass finds there the elements that the first
/// has read from memory. The array is read once; stores that bypass the caches save the fetch of y's lines, which
/// leaves the 8 bytes per element of a copy.
#include "common/machine/cpu_info.hpp"
#include "cpu/prefix_sum/scan.hpp"

namespace rung {
namespace {

/// The largest piece that half of a core's L2 holds: the other half is for the written lines.
std::int64_t piece_kib() {
  const auto half = static_cast<std::int64_t>(cpu_info().l2_bytes) / 2 / kKiB;
  return half >= 1024 ? 1024 : half >= 512 ? 512 : half >= 256 ? 256 : 64;
}

const bool added = add_kernel({
    .name = "cpu/prefix_sum/blocked",
    .order = 40,
    .title = "OpenMP, pieces in L2",
    .idea = "The two passes over pieces of the array that stay in a core's L2 from the first to the second.",
    .source = {{"merrill2016", "reduce-then-scan"}, {"intel-optimization", "non-temporal stores"}},
    .tunables = {{"kib", {256, 64, 512, 1024}, piece_kib}, kinds_of_store()},
    .scratch = sums_of_threads,
    .run =
        [](const Call& call) {
          with_store(call.params, [&](auto store) { scan_together<store>(call, piece_of_thread(call.params)); });
        },
});

}  // namespace
}  // namespace rung
