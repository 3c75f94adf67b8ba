/// Every access has 16 bytes. A thread loads four float4s, rows below each other, transposes these 4 x 4 elements in
/// its registers, which takes no instructions, and writes them into the tile as four float4s of B; the tile is then
/// read and B written by float4s along its rows. The float4s of a row of the tile are swizzled: otherwise the eight
/// lanes that shared memory serves together would access one bank. A thread has 64 bytes in flight, the 1536 threads of
/// a multiprocessor 96 KiB. Floor: 8 bytes per element over the rate of a copy.
#include <algorithm>

#include "gpu/transpose/strips.hpp"

namespace rung {
namespace {

using Tiles = Choices<64, 32>;

/// Four elements of a row of a matrix from `col` on; 0 beyond its end. kAligned: rows begin at multiples of 16 bytes.
template <bool kAligned>
__device__ float4 load_quad(const mem<float>* row, int col, int cols) {
  float4 quad = make_float4(0, 0, 0, 0);
  if (kAligned) {
    if (col < cols) quad = vector_cast<float4>(row)[col / 4];
    return quad;
  }
  if (col < cols) quad.x = row[col];
  if (col + 1 < cols) quad.y = row[col + 1];
  if (col + 2 < cols) quad.z = row[col + 2];
  if (col + 3 < cols) quad.w = row[col + 3];
  return quad;
}

template <bool kAligned>
__device__ void store_quad(mem<float>* row, int col, int cols, const float4& quad) {
  if (kAligned) {
    if (col < cols) vector_cast<float4>(row)[col / 4] = quad;
    return;
  }
  if (col < cols) row[col] = quad.x;
  if (col + 1 < cols) row[col + 1] = quad.y;
  if (col + 2 < cols) row[col + 2] = quad.z;
  if (col + 3 < cols) row[col + 3] = quad.w;
}

/// Tile: rows and columns of a block. kReads, kWrites: whether the rows of A and of B are aligned to 16 bytes; if both
/// are, blocks with 1536 threads together are resident: 2048 would leave too few registers.
template <int Tile, bool kReads, bool kWrites>
__global__ void __launch_bounds__(Tile* Tile / 16, kReads&& kWrites ? 24576 / (Tile * Tile) : 1)
    transpose_vectorised(const mem<float>* a, mem<float>* b, int rows, int cols, int strip) {
  constexpr int kQuads = Tile / 4;             // of a row of the tile
  __shared__ mem<float4> tile[Tile * kQuads];  // by rows of B, i.e. columns of A
  const int x = threadIdx.x % kQuads, y = threadIdx.x / kQuads;
  const TilePlace place = tile_place(blockIdx.x, strip, (rows + Tile - 1) / Tile, (cols + Tile - 1) / Tile);
  const int first_row = place.row * Tile, first_col = place.col * Tile;

  float4 quad[4];  // rows 4 y .. 4 y + 3 of the tile, columns 4 x .. 4 x + 3
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int row = first_row + 4 * y + i;
    quad[i] = make_float4(0, 0, 0, 0);
    if (row < rows) quad[i] = load_quad<kReads>(a + std::int64_t{row} * cols, first_col + 4 * x, cols);
  }
  mem<float4>* column = tile + 4 * x * kQuads + (y ^ (x % 8));  // the four columns have the same swizzle, by their x
  column[0] = make_float4(quad[0].x, quad[1].x, quad[2].x, quad[3].x);
  column[kQuads] = make_float4(quad[0].y, quad[1].y, quad[2].y, quad[3].y);
  column[2 * kQuads] = make_float4(quad[0].z, quad[1].z, quad[2].z, quad[3].z);
  column[3 * kQuads] = make_float4(quad[0].w, quad[1].w, quad[2].w, quad[3].w);
  __syncthreads();  // the tile is complete before it is read across

#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int line = y + i * kQuads;  // a row of B
    const float4 four = tile[line * kQuads + (x ^ (line / 4 % 8))];
    if (first_col + line < cols)
      store_quad<kWrites>(b + std::int64_t{first_col + line} * rows, first_row + 4 * x, rows, four);
  }
}

template <int Tile>
void run_tile(const Call& call) {
  const std::int64_t rows = call.params.at("m"), cols = call.params.at("n");
  const int strip = static_cast<int>(std::min(call.params.at("strip"), (cols + Tile - 1) / Tile));
  const auto run = [&](auto kernel) {
    launch(call, kernel, call.operand<const mem<float>>(0), call.operand<mem<float>>(1), static_cast<int>(rows),
           static_cast<int>(cols), strip);
  };
  const bool reads = cols % 4 == 0, writes = rows % 4 == 0;
  if (reads && writes) return run(transpose_vectorised<Tile, true, true>);
  if (reads) return run(transpose_vectorised<Tile, true, false>);
  if (writes) return run(transpose_vectorised<Tile, false, true>);
  run(transpose_vectorised<Tile, false, false>);
}

const bool added = add_gpu_kernel({
    .name = "gpu/transpose/vectorised",
    .order = 60,
    .title = "16-byte accesses",
    .idea = "Every access has 16 bytes: 4 x 4 elements are transposed in a thread's registers, the rest by a swizzled "
            "tile of float4s.",
    .source = {{"luitjens2013"}, {"cuda-guide", "shared memory swizzle"}},
    .tunables = {{"tile", Tiles::values()}, {"strip", {32, 8, 128, 4096}}},
    .gpu = {
        .launch =
            [](const Params& p) {
              const std::int64_t tile = p.at("tile");
              return Launch{{blocks_for(p.at("n"), tile) * blocks_for(p.at("m"), tile)},
                            {static_cast<unsigned>(tile * tile / 16)}};
            },
        .requested =
            [](const Params& p) {
              return Traffic{.loaded = 4 * transpose_elements(p), .stored = 4 * transpose_elements(p)};
            },
    },
    .run = [](const Call& call) { Tiles::pick(call.params.at("tile"), [&](auto tile) { run_tile<tile>(call); }); },
});

}  // namespace
}  // namespace rung
