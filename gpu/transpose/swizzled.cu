/// The tile with a different order of columns in each row: element (row, col) is in column col XOR row. The elements of
/// a column are again in 32 different banks, without padding, so that rows stay at multiples of 128 bytes, as wide
/// accesses and the copy engine require.
#include "gpu/transpose/tile.hpp"

namespace rung {
namespace {

struct Swizzled {
  static constexpr int kElements = kTile * kTile;
  __device__ static int at(int row, int col) { return row * kTile + (col ^ row); }
};

const bool added = add_gpu_kernel({
    .name = "gpu/transpose/swizzled",
    .order = 50,
    .title = "swizzled tile",
    .idea = "Each row of the tile has a different order of elements, column XOR row: no conflicts, no padding.",
    .source = {{"cuda-guide", "shared memory swizzle"}},
    .gpu = tile_launch(),
    .run = run_tile<Swizzled>,
});

}  // namespace
}  // namespace rung
