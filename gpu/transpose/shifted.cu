/// For matrices whose rows start at any address. If the length of B's rows is not a multiple of a sector (32 bytes),
/// the rows of a square tile start and end inside sectors, and two blocks write parts of one sector, which memory has
/// to merge. Here each row of a tile of B is shifted to the start of its first sector, so that a block writes whole
/// sectors. For that a block loads up to eight more rows of A than it writes columns of B. Only the sectors that two
/// rows of B share are still written in parts. A is read along its rows, four bytes per lane; rows that two blocks read
/// come from the L2 the second time. Floor: 8 bytes per element divided by the bandwidth of a copy.
#include <algorithm>

#include "gpu/transpose/strips.hpp"

namespace rung {
namespace {

using Tiles = Choices<64, 32, 128>;

constexpr int kSector = 8;  // elements
constexpr int kCols = 64;   // of A, rows of B: of a block

/// How many rows of A before its own a block holds: none where all rows of B begin with a sector.
int rows_before(std::int64_t rows) { return rows % kSector == 0 ? 0 : kSector; }

/// Blocks along the rows of A: the last one's edge, shifted back, must not be before the end.
std::int64_t tile_rows(std::int64_t rows, int tile) {
  return blocks_for(rows + std::max(0, rows_before(rows) - 1), tile);
}

/// Tile: columns of B that a block writes. `before`: see rows_before(). A block has one warp per eight columns of B.
template <int Tile>
__global__ void __launch_bounds__(Tile * 4, 1536 / (Tile * 4))
    transpose_shifted(const mem<float>* a, mem<float>* b, int rows, int cols, int before, int strip, int tiles_down) {
  constexpr int kWarps = Tile / 8;
  constexpr int kHeld = Tile + kSector;  // rows of A
  constexpr int kStride = kHeld + 1;     // odd: neither a column nor a row of the tile has two elements in a bank
  constexpr int kLoads = (kHeld + kWarps - 1) / kWarps;
  __shared__ mem<float> tile[kCols * kStride];  // by rows of B
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const TilePlace place = tile_place(blockIdx.x, strip, tiles_down, (cols + kCols - 1) / kCols);
  const int first_row = place.row * Tile, first_col = place.col * kCols;

  reg<float> element[kLoads][2] = {};
#pragma unroll
  for (int i = 0; i < kLoads; ++i) {
    const int held = warp + i * kWarps, row = first_row - before + held;
    if (held < Tile + before && row >= 0 && row < rows) {
      const mem<float>* from = a + std::int64_t{row} * cols + first_col;
      if (first_col + lane < cols) element[i][0] = from[lane];
      if (first_col + lane + 32 < cols) element[i][1] = from[lane + 32];
    }
  }
#pragma unroll
  for (int i = 0; i < kLoads; ++i) {
    const int held = warp + i * kWarps;
    if (held < kHeld) {
      tile[lane * kStride + held] = element[i][0];
      tile[(lane + 32) * kStride + held] = element[i][1];
    }
  }
  __syncthreads();  // the tile is complete before it is read across

#pragma unroll
  for (int i = 0; i < kCols / kWarps; ++i) {
    const int line = warp + i * kWarps;  // a row of B
    if (first_col + line >= cols) break;
    mem<float>* to = b + std::int64_t{first_col + line} * rows;
    const int shift = before == 0 ? 0 : static_cast<int>((std::int64_t{first_col + line} * rows + first_row) % kSector);
#pragma unroll
    for (int j = 0; j < Tile / 32; ++j) {
      const int at = lane + 32 * j, row = first_row - shift + at;
      if (row >= 0 && row < rows) to[row] = tile[line * kStride + before - shift + at];
    }
  }
}

template <int Tile>
void run_shifted(const Call& call) {
  const std::int64_t rows = call.params.at("m"), cols = call.params.at("n");
  const std::int64_t strip = std::min(call.params.at("strip"), (cols + kCols - 1) / kCols);
  launch(call, transpose_shifted<Tile>, call.operand<const mem<float>>(0), call.operand<mem<float>>(1),
         static_cast<int>(rows), static_cast<int>(cols), rows_before(rows), static_cast<int>(strip),
         static_cast<int>(tile_rows(rows, Tile)));
}

/// The rows of A that the blocks along them hold, added up.
double held_rows(std::int64_t rows, int tile) {
  std::int64_t held = 0;
  for (std::int64_t first = 0; first < tile_rows(rows, tile) * tile; first += tile)
    held += std::min(first + tile, rows) - std::max<std::int64_t>(first - rows_before(rows), 0);
  return static_cast<double>(held);
}

const bool added = add_gpu_kernel({
    .name = "gpu/transpose/shifted",
    .order = 70,
    .title = "whole sectors anywhere",
    .idea = "The edges of a tile differ from row to row of B, where sectors begin, so that rows of any length are "
            "written in whole sectors.",
    .source = {{"harris2013transpose"}, {"cuda-best-practices", "coalesced access to global memory"}},
    .tunables = {{"tile", Tiles::values()}, {"strip", {32, 8, 4096}}},
    .gpu = {
        .launch =
            [](const Params& p) {
              const int tile = static_cast<int>(p.at("tile"));
              return Launch{{blocks_for(p.at("n"), kCols) * blocks_for(tile_rows(p.at("m"), tile), 1)},
                            {static_cast<unsigned>(tile * 4)}};
            },
        .requested =
            [](const Params& p) {
              const double held = held_rows(p.at("m"), static_cast<int>(p.at("tile")));
              return Traffic{.loaded = 4 * held * static_cast<double>(p.at("n")), .stored = 4 * transpose_elements(p)};
            },
    },
    .run = [](const Call& call) { Tiles::pick(call.params.at("tile"), [&](auto tile) { run_shifted<tile>(call); }); },
});

}  // namespace
}  // namespace rung
