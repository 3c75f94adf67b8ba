/// All threads, in two passes: each sums its part of the array, all wait at a barrier, and each scans its part with the
/// sum of all parts before. Beyond the caches the array is read from memory twice: with the lines of y, which are
/// fetched before they are overwritten, 16 bytes per element move instead of 8.
#include "cpu/prefix_sum/scan.hpp"

namespace rung {
namespace {

const bool added = add_kernel({
    .name = "cpu/prefix_sum/openmp",
    .order = 30,
    .title = "OpenMP, two passes",
    .idea = "Each thread sums its part of the array, then scans it with the sum of all parts before.",
    .source = {{"blelloch1990"}, {"openmp", "barrier construct"}},
    .scratch = sums_of_threads,
    .run = [](const Call& call) { scan_together(call, share_of_thread(call.params.at("n"))); },
});

}  // namespace
}  // namespace rung
