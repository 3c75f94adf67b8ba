/// The top of the CPU's ladder: packing needs no separate pass. The first row of tiles reads B in place and stores the
/// micro-panel while it computes; the tiles below and the later blocks of A read that micro-panel. Blocks of A, packed
/// into micro-panels, fill half an L2, from which tiles read them. A micro-panel of B is deeper than an L1 would hold:
/// it is read in order, so that the prefetcher can follow it from L2, and C is loaded and stored less often. While a
/// tile computes, it prefetches rows of the next micro-panel, the beginning of the next rows of A and, near its end,
/// its own rows of C. Threads share nothing and synchronise once; each takes the next part of C when it has finished
/// one, since cores are not equally fast: turbo, other processes, other virtual machines. A small product is computed
/// by one thread. Source: the blocking of BLIS, with the packing of B fused with its first use; depth and prefetch
/// distances chosen by measurement.
#include <omp.h>

#include <atomic>

#include "cpu/matmul/blocking.hpp"
#include "cpu/matmul/level_traffic.hpp"
#include "cpu/matmul/skinny.hpp"

namespace rung {
namespace {

using Depths = Choices<512, 256, 1024, 2048>;

/// With at most kFewTiles rows of tiles, a product is limited by reading B from memory, not by arithmetic. With shallow
/// micro-panels the rows of B, and their pages, are used again before they are evicted.
constexpr int kFewTiles = 16, kShallow = 256;

/// B is read in place if all of it fits an L1.
bool is_small(std::ptrdiff_t floats) { return floats <= 2 * half_caches().l1; }

/// The tiles for `columns` columns of a piece: wide ones if B is in L1 and the columns fill them.
const MicroKernels& tiles_for(const MicroKernels& simd, std::ptrdiff_t floats_of_b, int columns) {
  if (!simd.wide || !is_small(floats_of_b)) return simd;
  const int last = columns % simd.wide->width();
  return last == 0 || last > simd.width() ? *simd.wide : simd;
}

constexpr double kClock = 3e9;  ///< Hz, typical of CPUs: to compare the time of a product with the start of the threads

/// The number of threads for this product: all, unless starting them takes longer than they save. A team of spinning
/// threads starts and ends in about a microsecond, plus a fifth of a microsecond per thread.
int worthwhile_threads(const Matmul<float>& it, const MicroKernels& simd) {
  const int threads = omp_get_max_threads();
  const double work = double(it.m) * it.n * it.k, a_second = 2 * simd.lanes * kClock;  // multiply-adds
  const double start = 1e-6 + 0.2e-6 * threads;
  // They save work / a_second (1 - 1 / threads). The comparison has no division, for the sake of small products.
  return work * (threads - 1) > start * a_second * threads ? threads : 1;
}

/// The blocking of a thread's part of C.
struct Blocks {
  int rows = 0;     ///< of a block of A
  int columns = 0;  ///< of a panel of B
  bool is_kept =
      false;  ///< the micro-panels of a panel of B are kept for all blocks of A; else each overwrites the last
  bool packs_a = false;  ///< into micro-panels: one stream per tile, whatever the leading dimension of A
};

/// Whether the rows of a tile, `lda` floats apart, conflict in the L1: they fill most of a set's associativity, so that
/// a line of A is evicted before its sixteen steps are over. If lda is about a power of two, all rows map to one or two
/// sets. A way is as large as a page, since an L1 is indexed by address bits that need no translation.
bool rows_collide(const MicroKernels& simd, std::ptrdiff_t lda) {
  constexpr std::ptrdiff_t kLine = 16, kWay = 1024;  // floats
  const std::ptrdiff_t ways = 2 * half_caches().l1 / kWay;
  int most = 0;
  for (int first = 0; first < simd.rows; ++first) {
    int near = 0;  // rows that map, or may map, to the same set as the first one
    for (int row = 0; row < simd.rows; ++row) near += ((row - first) * lda % kWay + kWay) % kWay < kLine;
    most = std::max(most, near);
  }
  return 4 * most >= 3 * ways;
}

/// Blocks of A fill half an L2, panels of B half of this thread's share of half the L3, in even parts. Packing A pays
/// if it is used for enough micro-panels of B, or for fewer if its rows conflict in the L1.
Blocks blocks_for(const MicroKernels& simd, int rows, int columns, int depth, std::ptrdiff_t lda, int threads) {
  constexpr int kMicroPanelsToPackFor = 24, kIfRowsCollide = 4;
  const auto in_even_parts = [&](int size, int floats, int unit) {
    const int most = std::max(unit, floats / depth);
    const int parts = std::max(1, (size + most / 2) / most);
    return rounded_up(divided_up(size, parts), unit);
  };
  const auto pays = [&](int used_columns) {  // rows_collide() only if necessary: it is slow for small products
    return used_columns >= kMicroPanelsToPackFor * simd.width() ||
           (used_columns >= kIfRowsCollide * simd.width() && rows_collide(simd, lda));
  };
  const bool is_one_block = 2.0 * rows * depth < 3.0 * half_caches().l2;  // without a division, for small products
  if (is_one_block) return {rows, columns, false, pays(columns)};
  const int high = in_even_parts(rows, half_caches().l2, simd.rows);
  const int wide = in_even_parts(columns, half_caches().l3 / 2 / threads, simd.width());
  return {high, wide, true, pays(wide)};
}

/// `rows` rows divided into as few tiles as possible, whose heights differ by at most one row.
struct EvenTiles {
  int count, least, higher;  ///< tiles; rows of the lower ones; the number of tiles with one more row, which come first

  EvenTiles(int rows, int most) : count(divided_up(rows, most)), least(rows / count), higher(rows - count * least) {}
  int height(int tile) const { return least + (tile < higher); }
};

/// Packs `rows` rows of A into the micro-panels of their tiles, `depth` steps long, one after the other.
void pack_block(const MicroKernels& simd, const float* a, std::ptrdiff_t lda, int rows, int depth, float* packed_a) {
  const EvenTiles tiles(rows, simd.rows);
  for (int i = 0; i < tiles.count; ++i) {
    const std::ptrdiff_t high = tiles.height(i);
    simd.pack_a(a, lda, static_cast<int>(high), depth, packed_a);
    a += high * lda;
    packed_a += high * depth;
  }
}

/// The columns of C of one micro-panel of B: the tiles from top to bottom. `from`: where the first tile reads B. If
/// tile.next_b is not null, they prefetch tile.k rows of the next micro-panel from there.
void multiply_micro_panel(const MicroKernels& simd, Tile tile, const EvenTiles& tiles, bool a_is_packed, FromB from) {
  const bool prefetches_rows = !a_is_packed && from != FromB::matrix && tile.k > 64;
  tile.a_is_packed = a_is_packed;
  int to_prefetch = tile.next_b && from != FromB::matrix ? tile.k : 0;
  const int each = to_prefetch > 0 ? divided_up(to_prefetch, tiles.count) : 0;
  MicroKernels::Run run = nullptr;
  for (int i = 0; i < tiles.count; ++i) {
    const int high = tiles.height(i);
    // Looked up only where it may change: a small product has many tiles, and the lookup contains a division.
    if (i <= 1 || i == tiles.higher) run = simd.tile(from, high, tile.columns);
    tile.next_count = std::min(each, to_prefetch);
    tile.next_rows = prefetches_rows && i + 1 < tiles.count;
    run(tile);
    if (from == FromB::packing) from = FromB::packed, tile.b = tile.packed_b;
    tile.a += high * (a_is_packed ? tile.k : tile.lda);
    tile.c += high * tile.ldc;
    tile.next_b += tile.next_count * tile.next_stride;
    to_prefetch -= tile.next_count;
  }
}

/// A block of A times a panel of B. `block`: the first elements and the number of columns. `from`: where B is read;
/// packed micro-panels begin at block.packed_b, `stride` floats apart.
void multiply_block(const MicroKernels& simd, const Tile& block, int rows, bool a_is_packed, FromB from,
                    std::ptrdiff_t stride) {
  const EvenTiles tiles(rows, simd.rows);
  for (int col = 0; col < block.columns; col += simd.width()) {
    Tile tile = block;
    const int further = block.columns - col - simd.width();
    tile.columns = std::min(simd.width(), block.columns - col);
    tile.packed_b = block.packed_b + col / simd.width() * stride;
    tile.b = from == FromB::packed ? tile.packed_b : block.b + col;
    tile.c = block.c + col;
    tile.next_stride = from == FromB::packed ? simd.packed_width(std::min(simd.width(), further)) : tile.ldb;
    tile.next_b = further <= 0 ? nullptr : from == FromB::packed ? tile.packed_b + stride : tile.b + simd.width();
    multiply_micro_panel(simd, tile, tiles, a_is_packed, from);
  }
}

/// A micro-panel of B is packed if it is kept, or if it pays for `high` rows.
bool packs_for(const Matmul<float>& it, const MicroKernels& simd, int kc, int high, bool is_kept) {
  return !is_small(kc * it.ldb) && (is_kept || high > (kTilesToPackFor - 1) * simd.rows);
}

/// A piece of C, by one thread.
void multiply_piece(const Matmul<float>& it, const MicroKernels& all, int kc, const Piece& piece) {
  const auto& [rows, columns] = piece;
  const MicroKernels& simd = tiles_for(all, kc * it.ldb, columns.size());
  static thread_local Workspace workspace_a, workspace_b;
  const Blocks blocks = blocks_for(simd, rows.size(), columns.size(), kc, it.lda, omp_get_num_threads());
  const std::ptrdiff_t micro_panel = std::ptrdiff_t{kc} * simd.width();
  float* packed_b = workspace_b.reserve(blocks.is_kept ? std::size_t(kc) * blocks.columns : std::size_t(micro_panel));
  float* packed_a = blocks.packs_a ? workspace_a.reserve(std::size_t(blocks.rows) * kc) : nullptr;
  const auto source_of_b = [&](int rows_done, int high) {
    if (!packs_for(it, simd, kc, high, blocks.is_kept)) return FromB::matrix;
    return blocks.is_kept && rows_done > 0 ? FromB::packed : FromB::packing;
  };
  for (int left = columns.begin; left < columns.end; left += blocks.columns)
    for (int first = 0; first < it.k; first += kc)
      for (int top = rows.begin; top < rows.end; top += blocks.rows) {
        const int depth = std::min(kc, it.k - first), high = std::min(blocks.rows, rows.end - top);
        const float* a = it.a + top * it.lda + first;
        if (packed_a) pack_block(simd, a, it.lda, high, depth, packed_a);
        multiply_block(simd,
                       {.k = depth,
                        .columns = std::min(blocks.columns, columns.end - left),
                        .a = packed_a ? packed_a : a,
                        .b = it.b + first * it.ldb + left,
                        .c = it.c + top * it.ldc + left,
                        .lda = it.lda,
                        .ldb = it.ldb,
                        .ldc = it.ldc,
                        .alpha = it.alpha,
                        .beta = first == 0 ? it.beta : 1,
                        .packed_b = packed_b},
                       high, packed_a, source_of_b(top - rows.begin, high), blocks.is_kept ? micro_panel : 0);
      }
}

/// Steps of k before the next block, at most `depth`.
int depth_for(const Matmul<float>& it, const MicroKernels& simd, int depth) {
  const int deepest = it.m <= kFewTiles * simd.rows ? std::min(depth, kShallow) : depth;
  if (it.k <= deepest) return rounded_up(it.k, 8);
  return rounded_up(divided_up(it.k, divided_up(it.k, deepest)), 8);  // even parts instead of a small last one
}

GuidedPieces pieces_for(const Matmul<float>& it, const MicroKernels& simd, int threads) {
  return {grid_for(threads, it.m, it.n), it.m, it.n, simd.rows, simd.width()};
}

void matmul_fused(const Matmul<float>& it, const MicroKernels& simd, int depth) {
  const int threads = worthwhile_threads(it, simd);
  if (is_skinny(it)) return stream_product(it, simd, threads);
  const int kc = depth_for(it, simd, depth);
  if (threads == 1) return multiply_piece(it, simd, kc, {{0, it.m}, {0, it.n}});
  std::atomic<int> taken = 0;  // pieces, after the first one of each thread
#pragma omp parallel num_threads(threads)
  {
    GuidedPieces pieces = pieces_for(it, simd, threads);
    for (int i = omp_get_thread_num(); pieces.reach(i); i = omp_get_num_threads() + taken++)
      if (pieces.piece().size() > 0) multiply_piece(it, simd, kc, pieces.piece());
  }
}

/// For the path that matmul_fused takes.
LevelTraffic traffic_of_fused(const Matmul<float>& it, const MicroKernels& simd, int depth) {
  const MatmulShape shape{it.m, it.n, it.k};
  const int threads = worthwhile_threads(it, simd);
  if (is_skinny(it)) return streamed_traffic(shape, simd.lanes, threads);
  const int kc = depth_for(it, simd, depth);
  return tiles_traffic(shape, pieces_for(it, simd, threads), [&](int rows, int columns) {
    const MicroKernels& tiles = tiles_for(simd, kc * it.ldb, columns);
    const Blocks blocks = blocks_for(tiles, rows, columns, kc, it.lda, threads);
    const bool packs = packs_for(it, tiles, kc, blocks.rows, blocks.is_kept);
    return TileLoops{.mr = tiles.rows,
                     .nr = tiles.width(),
                     .kc = kc,
                     .mc = blocks.rows,
                     .nc = blocks.columns,
                     .packed_rows = blocks.packs_a ? blocks.rows : 0,
                     .packed_b = !packs           ? PackedB::none
                                 : blocks.is_kept ? PackedB::panel
                                                  : PackedB::micro_panel,
                     .packing_is_fused = packs};
  });
}

const bool added = add_kernel({
    .name = "cpu/matmul/fused",
    .order = 80,
    .title = "fused packing",
    .idea = "The first row of tiles packs B while it computes; deep micro-panels, prefetched; dynamic scheduling of "
            "threads.",
    .source = {{"vanzee2015", "packing"}},
    .is_general = true,
    .tunables = {simd_tunable(), {"depth", Depths::values()}},
    .refuse = refuse_simd,
    .cpu = {.level_traffic =
                [](const Params& p) {
                  return traffic_of_fused(matmul_sizes(p), micro_kernels(p.at("simd")),
                                          static_cast<int>(p.at("depth")));
                }},
    .run =
        [](const Call& call) {
          const Matmul<float> it = matmul_of(call);
          if (it.alpha == 0) return scale_output(it);
          matmul_fused(it, micro_kernels(call.params.at("simd")), static_cast<int>(call.params.at("depth")));
        },
});

}  // namespace
}  // namespace rung
