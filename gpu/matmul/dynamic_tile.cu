/// The tile's width is an argument: the shared memory is set at the launch, so that one program can use all that each
/// device offers a block. Both tiles are in one array. B's tile begins tile x tile *elements* after A's: adding the
/// size in bytes to a pointer to float would go four times too far. A block has at most 32 x 32 threads, so from a
/// width of 33 on each computes several elements of C, in steps of the block's side.
/// Wider tiles request fewer bytes, 8 n^3 / tile, but take 8 tile^2 bytes of shared memory: the widest leaves room for
/// one block on a multiprocessor, and all its threads wait at each barrier.
/// Source: PMPP 4e, section 5.6, fig. 5.14.
#include "common/machine/device_facts.hpp"
#include "gpu/matmul/general.hpp"

namespace rung {
namespace {

using Tiles = Choices<4, 8, 12, 16, 20, 24, 32, 48, 64, 96, 128, 160>;
using Outputs = Choices<1, 2, 3, 4, 5>;

/// Elements of C in each direction that a thread computes.
int outputs_of(std::int64_t tile) { return static_cast<int>((tile + 31) / 32); }

std::size_t shared_bytes(std::int64_t tile) { return 2 * static_cast<std::size_t>(tile * tile) * sizeof(float); }

/// Threads along a side of the block.
std::int64_t side_of(std::int64_t tile) { return tile / outputs_of(tile); }

/// The widest tile whose block this device can launch: its shared memory and its threads fit.
std::int64_t widest_tile() {
  const DeviceFacts gpu = gpu_facts();
  std::int64_t widest = 0;
  for (const Value& tile : Tiles::values())
    if (shared_bytes(tile.number) <= gpu.shared_bytes_per_block &&
        side_of(tile.number) * side_of(tile.number) <= gpu.threads_per_block)
      widest = tile.number;
  return widest;
}

template <int Outputs>
__global__ void __launch_bounds__(1024) matmul_dynamic_tile(General g, int tile) {
  mem<float>* const as = dynamic_shared<mem<float>>();
  mem<float>* const bs = as + tile * tile;
  const int side = blockDim.x;
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int first_row = blockIdx.y * tile, first_col = blockIdx.x * tile;
  reg<float> sum[Outputs][Outputs];
  for (int r = 0; r < Outputs; ++r)
    for (int q = 0; q < Outputs; ++q) sum[r][q] = 0;
  for (int phase = 0; phase < g.k; phase += tile) {
#pragma unroll
    for (int r = 0; r < Outputs; ++r)
#pragma unroll
      for (int q = 0; q < Outputs; ++q) {
        const int row = ty + r * side, col = tx + q * side;
        as[row * tile + col] = element_at(g.a, first_row + row, phase + col);
        bs[row * tile + col] = element_at(g.b, phase + row, first_col + col);
      }
    __syncthreads();
    for (int i = 0; i < tile; ++i) {
      reg<float> column[Outputs], line[Outputs];
#pragma unroll
      for (int r = 0; r < Outputs; ++r) column[r] = as[(ty + r * side) * tile + i];
#pragma unroll
      for (int q = 0; q < Outputs; ++q) line[q] = bs[i * tile + tx + q * side];
#pragma unroll
      for (int r = 0; r < Outputs; ++r)
#pragma unroll
        for (int q = 0; q < Outputs; ++q) sum[r][q] += column[r] * line[q];
    }
    __syncthreads();
  }
#pragma unroll
  for (int r = 0; r < Outputs; ++r)
#pragma unroll
    for (int q = 0; q < Outputs; ++q) put(g, first_row + ty + r * side, first_col + tx + q * side, sum[r][q]);
}

const bool added = add_gpu_kernel({
    .name = "gpu/matmul/dynamic_tile",
    .order = 70,
    .title = "tile at run time",
    .idea = "The width of the tile is an argument, up to the shared memory that the device offers a block.",
    .source = {{"pmpp", "section 5.6, figure 5.14"}},
    .is_general = true,
    .tunables = {{"tile", Tiles::values(), widest_tile}},
    .gpu = {
        .launch =
            [](const Params& p) {
              const std::int64_t tile = p.at("tile");
              const auto side = static_cast<unsigned>(side_of(tile));
              Launch launch = tiled_launch(p, tile, tile, {side, side});
              launch.dynamic_shared_bytes = shared_bytes(tile);
              return launch;
            },
        .requested = [](const Params& p) { return tiled_traffic(p, p.at("tile"), p.at("tile")); },
    },
    .run =
        [](const Call& call) {
          const auto tile = static_cast<int>(call.params.at("tile"));
          Outputs::pick(outputs_of(tile),
                        [&](auto outputs) { launch(call, matmul_dynamic_tile<outputs>, general(call), tile); });
        },
});

}  // namespace
}  // namespace rung
