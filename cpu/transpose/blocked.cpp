/// All threads and blocks of 16 x 16 elements, whole lines of A and of B, transposed in registers. Each line of either
/// matrix is accessed once, but B's lines are fetched before they are overwritten: three transfers per element instead
/// of two. Floor: 12 bytes per element over the bandwidth.
#include "cpu/transpose/blocked.hpp"

namespace rung {
namespace {

const bool added = add_kernel({
    .name = "cpu/transpose/blocked",
    .order = 20,
    .title = "blocked, OpenMP",
    .idea = "Blocks of whole lines of both matrices, transposed in registers, divided among all threads.",
    .source = {{"pmpp", "section 5.4"}, {"openmp", "parallel for"}},
    .tunables = tile_sides(),
    .run = transpose_blocked<Store::ordinary>,
});

}  // namespace
}  // namespace rung
