/// The top of the CPU's ladder: packing costs no pass of its own. The first row of tiles computes from B as it lies in
/// memory and stores the sliver on the way; the tiles below read it. So a sliver may be deep: it is written once and
/// read in order, which the prefetcher follows from L2 as well, and with a depth of a thousand steps C is loaded and
/// stored seldom. While a tile computes, it asks for what comes next: rows of the next sliver, the heads of the next
/// rows of A, at its end its own rows of C. Threads share nothing and meet once; a small product is left to one.
/// Source: the packing of BLIS, fused with the first use; depth and distances chosen by measurement.
#include <omp.h>

#include "cpu/matmul/blocking.hpp"
#include "cpu/matmul/skinny.hpp"

namespace rung {
namespace {

using Depths = Choices<1024, 256, 512, 2048>;

/// A product of so few tiles of rows waits for B from memory, not for arithmetic: shallow slivers come back to the rows
/// of B, and to their pages, before these are gone.
constexpr int kFewTiles = 16, kShallow = 256;

/// B is read where it lies, too, if it fits half an L1 whole.
bool is_small(std::ptrdiff_t floats) {
  static const auto half_l1 = static_cast<std::ptrdiff_t>(cpu_info().l1d_bytes / 2 / sizeof(float));
  return floats <= half_l1;
}
constexpr double kClock = 3e9;  ///< Hz, about what CPUs run at: to weigh a product against the start of the threads

/// Threads for this product: all, unless starting them takes longer than they save. A team that waits for work starts
/// and ends in about a microsecond, and each thread adds a fifth of one.
int worthwhile_threads(const Matmul<float>& it, const MicroKernels& simd) {
  const int threads = omp_get_max_threads();
  const double alone = double(it.m) * it.n * it.k / (2 * simd.lanes * kClock);
  const double start = 1e-6 + 0.2e-6 * threads;
  return alone - alone / threads > start ? threads : 1;
}

/// One sliver's columns of C, all of this thread's rows: the tiles from top to bottom, as high as each other.
void multiply_sliver(const MicroKernels& simd, Tile tile, int rows, float* sliver, int next_columns) {
  const int tiles = divided_up(rows, simd.rows);
  const bool packs = tiles >= kTilesToPackFor && !is_small(tile.k * tile.ldb);
  const int each = packs && next_columns > 0 ? divided_up(tile.k, tiles) : 0;
  tile.sliver = sliver;
  tile.next_b = tile.b + tile.columns;
  tile.next_stride = tile.ldb;
  const float* next_end = tile.next_b + tile.k * tile.ldb;
  for (int i = 0; i < tiles; ++i) {
    const int high = rows * (i + 1) / tiles - rows * i / tiles;
    tile.next_count = static_cast<int>(std::min<std::ptrdiff_t>(each, (next_end - tile.next_b) / tile.ldb));
    tile.next_rows = i + 1 < tiles && tile.k > 64;
    const FromB from = !packs ? FromB::matrix : i == 0 ? FromB::packing : FromB::sliver;
    simd.tile(from, high, tile.columns)(tile);
    if (packs) tile.b = sliver;
    tile.a += high * tile.lda;
    tile.c += high * tile.ldc;
    tile.next_b += tile.next_count * tile.ldb;
  }
}

/// The rows of A that all slivers go over before the next ones are begun, and whether they are copied together first.
struct BlockOfA {
  int rows = 0;
  bool is_copied = false;
};

/// Slivers read A again and again. A large L2 keeps a block of it, if it is copied: rows a power of two apart would
/// fall into a few of its sets. Each block packs B anew, so blocks must be high, and a small L2 is left alone: such
/// CPUs have their L3 near, and half of this thread's share of it takes a block as it lies.
BlockOfA block_of_a(const MicroKernels& simd, int rows, int columns, int depth) {
  constexpr int kTilesToCopyFor = 16;
  const CpuInfo& cpu = cpu_info();
  const auto fitting = [&](std::size_t bytes) {
    return static_cast<int>(bytes / sizeof(float) / static_cast<std::size_t>(depth)) / simd.rows * simd.rows;
  };
  const auto even_blocks = [&](int most) {  // as near to `most` as blocks of equal height come: no thin last one
    const int blocks = std::max(1, (rows + most / 2) / most);
    return rounded_up(divided_up(rows, blocks), simd.rows);
  };
  const int in_l2 = fitting(cpu.l2_bytes / 2), least = kTilesToCopyFor * simd.rows;
  if (rows > in_l2 && in_l2 >= least && columns >= kTilesToCopyFor * simd.width()) return {even_blocks(in_l2), true};
  const int in_l3 = fitting(cpu.all_l3_bytes / 2 / static_cast<std::size_t>(omp_get_num_threads()));
  return {in_l3 >= least ? even_blocks(in_l3) : rows, false};
}

/// The part of C at `rows` and `columns`, by one thread.
void multiply_part(const Matmul<float>& it, const MicroKernels& simd, int kc, Part rows, Part columns) {
  static thread_local Workspace sliver_place, block_place;
  float* sliver = sliver_place.reserve(std::size_t(kc) * simd.width());
  const BlockOfA blocks = block_of_a(simd, rows.size(), columns.size(), kc);
  float* block = blocks.is_copied ? block_place.reserve(std::size_t(blocks.rows) * (kc + kRowPad)) : nullptr;
  for (int first = 0; first < it.k; first += kc)
    for (int top = rows.begin; top < rows.end; top += blocks.rows) {
      const int depth = std::min(kc, it.k - first), high = std::min(blocks.rows, rows.end - top);
      const float* a = it.a + top * it.lda + first;
      if (blocks.is_copied) simd.copy_rows(a, it.lda, high, depth, block, kc + kRowPad);
      for (int col = columns.begin; col < columns.end; col += simd.width())
        multiply_sliver(simd,
                        {.k = depth,
                         .columns = std::min(simd.width(), columns.end - col),
                         .a = blocks.is_copied ? block : a,
                         .b = it.b + first * it.ldb + col,
                         .c = it.c + top * it.ldc + col,
                         .lda = blocks.is_copied ? kc + kRowPad : it.lda,
                         .ldb = it.ldb,
                         .ldc = it.ldc,
                         .alpha = it.alpha,
                         .beta = first == 0 ? it.beta : 1},
                        high, sliver, columns.end - col - simd.width());
    }
}

void matmul_fused(const Matmul<float>& it, const MicroKernels& simd, int depth) {
  const int threads = worthwhile_threads(it, simd);
  if (is_skinny(it)) return stream_product(it, simd, threads);
  const int deepest = it.m <= kFewTiles * simd.rows ? std::min(depth, kShallow) : depth;
  const int kc = rounded_up(divided_up(it.k, divided_up(it.k, deepest)), 8);  // even parts, no thin last one
  if (threads == 1) return multiply_part(it, simd, kc, {0, it.m}, {0, it.n});
#pragma omp parallel num_threads(threads)
  {
    const Grid grid = grid_for(omp_get_num_threads(), it.m, it.n);
    const Part rows = grid.rows(omp_get_thread_num(), it.m, 1);
    const Part columns = grid.columns(omp_get_thread_num(), it.n, simd.lanes);
    if (rows.size() > 0 && columns.size() > 0) multiply_part(it, simd, kc, rows, columns);
  }
}

const bool added = add_kernel({
    .name = "cpu/matmul/fused",
    .order = 80,
    .title = "fused packing",
    .idea = "The first row of tiles packs B while it computes; deep slivers, prefetched; threads that share nothing.",
    .source = "BLIS's packing fused with its first use",
    .is_general = true,
    .tunables = {simd_tunable(), {"depth", Depths::values()}},
    .refuse = refuse_simd,
    .run =
        [](const Call& call) {
          const Matmul<float> it = matmul_of(call);
          if (it.alpha == 0) return scale_output(it);
          matmul_fused(it, micro_kernels(call.params.at("simd")), static_cast<int>(call.params.at("depth")));
        },
});

}  // namespace
}  // namespace rung
