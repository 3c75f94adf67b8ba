/// The blocked transpose with stores that bypass the caches: a line of B is written whole and never fetched, so that
/// each element is moved twice, as in a copy. Floor: 8 bytes per element over the bandwidth of a copy with such stores.
#include "cpu/transpose/blocked.hpp"

namespace rung {
namespace {

const bool added =
    kHasStreamingStores &&
    add_kernel({
        .name = "cpu/transpose/streaming",
        .order = 30,
        .title = "streaming stores",
        .idea = "The same with stores that bypass the caches, so that no line of B is fetched only to be overwritten.",
        .source = {{"intel-optimization", "non-temporal stores"}},
        .tunables = tile_sides(),
        .run = transpose_blocked<Store::streaming>,
    });

}  // namespace
}  // namespace rung
