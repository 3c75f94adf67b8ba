/// The two passes over pieces that fit a core's L2 cache: what the first has read from memory, the second finds there.
/// The array is read once; stores that go past the caches save the fetch of y's lines, which leaves the 8 bytes an
/// element that a copy moves. Where the arrays fit into a cache, those stores are a detour, and slower.
#include "common/machine/cpu_info.hpp"
#include "cpu/prefix_sum/scan.hpp"

namespace rung {
namespace {

constexpr std::int64_t kKiB = 1024;
constexpr const char* kStreaming = "streaming";

/// The largest piece that half of a core's L2 holds: the other half is for what is written.
std::int64_t piece_kib() {
  const auto half = static_cast<std::int64_t>(cpu_info().l2_bytes) / 2 / kKiB;
  return half >= 1024 ? 1024 : half >= 512 ? 512 : half >= 256 ? 256 : 64;
}

void scan_blocked(const Call& call) {
  const std::int64_t piece =
      std::min<std::int64_t>(call.params.at("kib") * kKiB / sizeof(float), share_of_thread(call.params.at("n")));
  if (call.params.value("stores").word == kStreaming)
    scan_together<Store::streaming>(call, piece);
  else
    scan_together(call, piece);
}

const bool added = add_kernel({
    .name = "cpu/prefix_sum/blocked",
    .order = 40,
    .title = "OpenMP, pieces in L2",
    .idea = "The two passes over pieces of the array that stay in a core's L2 from the first to the second.",
    .source = {{"merrill2016", "reduce-then-scan"}, {"intel-optimization", "non-temporal stores"}},
    .tunables = {{"kib", {256, 64, 512, 1024}, piece_kib},
                 {"stores", kHasStreamingStores ? words({kStreaming, "ordinary"}) : words({"ordinary"})}},
    .scratch = sums_of_threads,
    .run = scan_blocked,
});

}  // namespace
}  // namespace rung
