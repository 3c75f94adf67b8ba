/// Sums first, then one scan: the first launch only adds up each tile, the second scans the tiles' sums, and the third
/// reads the array again, scans it with the sum before each tile and writes it. 12 bytes per element instead of 16: two
/// thirds of memory's bandwidth at best, more where the second read still finds the array in L2. Within a tile, lanes
/// exchange sums by shuffles.
#include <type_traits>

#include "gpu/prefix_sum/tile.hpp"

namespace rung {
namespace {

template <int Threads, int Rows>
__global__ void __launch_bounds__(Threads) sum_tiles(const mem<float>* x, mem<float>* sums, int n) {
  Part<Rows> part;
  part.load(x, (static_cast<int>(blockIdx.x) * (Threads / 32) + warp_index()) * (Rows * kRow), n);
  const BlockSums joined = join_warps<Threads>(part.total());
  if (threadIdx.x == 0) sums[blockIdx.x] = joined.total;
}

/// By a single block, tile after tile, in place.
template <int Threads, int Rows>
__global__ void __launch_bounds__(Threads) scan_tile_sums(mem<float>* sums, int count) {
  reg<float> carried = 0;
  for (int tile = 0; tile < count; tile += Threads * Rows * 4) {
    const int first = tile + warp_index() * (Rows * kRow);
    Part<Rows> part;
    part.load(sums, first, count);
    const BlockSums joined = join_warps<Threads>(part.scan());
    part.store(sums, first, count, carried + joined.before);
    carried += joined.total;
    __syncthreads();  // all warps have read the sums of the others
  }
}

template <int Threads, int Rows>
__global__ void __launch_bounds__(Threads)
    scan_tiles(const mem<float>* x, const mem<float>* sums, mem<float>* y, int n) {
  const int first = (static_cast<int>(blockIdx.x) * (Threads / 32) + warp_index()) * (Rows * kRow);
  Part<Rows> part;
  part.load(x, first, n);
  reg<float> before = 0;
  if (blockIdx.x > 0) before = sums[blockIdx.x - 1];
  const BlockSums joined = join_warps<Threads>(part.scan());
  part.store(y, first, n, before + joined.before);
}

const bool added = add_gpu_kernel({
    .name = "gpu/prefix_sum/shuffles",
    .order = 30,
    .title = "sums first, by shuffles",
    .idea = "Adds up each tile, scans the sums, then scans each tile by warp shuffles: reads twice, but writes once.",
    .source = {{"cuda-guide", "warp shuffle functions"}, {"merrill2016", "reduce-then-scan"}},
    .tunables = {{"items", TileItems::values()}, {"threads", TileThreads::values()}},
    .scratch =
        [](const Params& p) {
          return std::vector{Operand{.name = "sums", .elements = tiles_of(p), .role = Role::scratch}};
        },
    .gpu =
        {
            .launch = tile_launch,
            .requested =
                [](const Params& p) {
                  const double n = 4.0 * p.at("n"), sums = 4.0 * tiles_of(p);
                  const double befores = (sums - 4) * p.at("threads");  // each thread reads its tile's
                  return Traffic{.loaded = 2 * n + sums + befores, .stored = n + 2 * sums};
                },
        },
    .run =
        [](const Call& call) {
          const int n = static_cast<int>(call.params.at("n"));
          const auto* x = call.operand<const mem<float>>(0);
          auto* sums = call.operand<mem<float>>(2);
          with_tile(call.params, [&](auto threads, auto rows) {
            launch(call, sum_tiles<threads, rows>, x, sums, n);
            Call one_block = call;
            one_block.launch.grid = {1};
            launch(one_block, scan_tile_sums<threads, rows>, sums, static_cast<int>(call.launch.grid.x));
            launch(call, scan_tiles<threads, rows>, x, sums, call.operand<mem<float>>(1), n);
          });
        },
});

}  // namespace
}  // namespace rung
