/// The top of the CPU's ladder: packing costs no pass of its own. The first row of tiles computes from B as it lies in
/// memory and stores the sliver on the way; the tiles below read it, and so do the later blocks of A. These, packed
/// into panels, fill half an L2, which is read while tiles compute; a sliver is deeper than an L1 would hold, since it
/// is read in order, which the prefetcher follows from L2 as well, and C is loaded and stored the more seldom. While a
/// tile computes, it asks for what comes next: rows of the next sliver, the heads of the next rows of A, at its end its
/// own rows of C. Threads share nothing and meet once; each takes the next part of C when it is done with one, since
/// cores are seldom equally fast: turbo, other programs, other machines on the same cores. A small product is left to
/// one thread. Source: the blocking of BLIS, its packing of B fused with the first use; depth and distances chosen by
/// measurement.
#include <omp.h>

#include <atomic>

#include "cpu/matmul/blocking.hpp"
#include "cpu/matmul/level_traffic.hpp"
#include "cpu/matmul/skinny.hpp"

namespace rung {
namespace {

using Depths = Choices<512, 256, 1024, 2048>;

/// A product of so few tiles of rows waits for B from memory, not for arithmetic: shallow slivers come back to the rows
/// of B, and to their pages, before these are gone.
constexpr int kFewTiles = 16, kShallow = 256;

/// B is read where it lies, too, if it fits an L1 whole.
bool is_small(std::ptrdiff_t floats) { return floats <= 2 * half_caches().l1; }

/// The tiles for so many columns of a piece. B in L1 may be read as often as wide tiles do, if the columns fill them.
const MicroKernels& tiles_for(const MicroKernels& simd, std::ptrdiff_t floats_of_b, int columns) {
  if (!simd.wide || !is_small(floats_of_b)) return simd;
  const int last = columns % simd.wide->width();
  return last == 0 || last > simd.width() ? *simd.wide : simd;
}

constexpr double kClock = 3e9;  ///< Hz, about what CPUs run at: to weigh a product against the start of the threads

/// Threads for this product: all, unless starting them takes longer than they save. A team that waits for work starts
/// and ends in about a microsecond, and each thread adds a fifth of one.
int worthwhile_threads(const Matmul<float>& it, const MicroKernels& simd) {
  const int threads = omp_get_max_threads();
  const double work = double(it.m) * it.n * it.k, a_second = 2 * simd.lanes * kClock;  // multiply-adds
  const double start = 1e-6 + 0.2e-6 * threads;
  // They save work / a_second (1 - 1 / threads): told without a division, for small products.
  return work * (threads - 1) > start * a_second * threads ? threads : 1;
}

/// How a thread goes over its part of C.
struct Blocks {
  int rows = 0;          ///< of A that all slivers of a panel go over before the next rows are begun
  int columns = 0;       ///< of B that form a panel
  bool is_kept = false;  ///< a panel's slivers are kept for further blocks of rows; else each is packed over the last
  bool packs_a = false;  ///< into panels as high as the tiles: one stream each, however far apart the rows of A lie
};

/// Whether rows of a tile, `lda` floats apart, fill most of the ways of a set of the L1, so that a line of A is driven
/// out before its sixteen steps are over: about a power of two apart, all of them fall into one or two sets. A way is a
/// page, since an L1 finds its sets by the part of the address that needs no translation.
bool rows_collide(const MicroKernels& simd, std::ptrdiff_t lda) {
  constexpr std::ptrdiff_t kLine = 16, kWay = 1024;  // floats
  const std::ptrdiff_t ways = 2 * half_caches().l1 / kWay;
  int most = 0;
  for (int first = 0; first < simd.rows; ++first) {
    int near = 0;  // rows that lie in the same line of a way as the first one, or may
    for (int row = 0; row < simd.rows; ++row) near += ((row - first) * lda % kWay + kWay) % kWay < kLine;
    most = std::max(most, near);
  }
  return 4 * most >= 3 * ways;
}

/// Blocks of A fill half an L2, panels of B half of this thread's share of half the L3; none is much smaller than the
/// others. To pack A costs as much as some slivers take: it must be used for more of them, or spare its rows more.
Blocks blocks_for(const MicroKernels& simd, int rows, int columns, int depth, std::ptrdiff_t lda, int threads) {
  constexpr int kSliversToPackFor = 24, kIfRowsCollide = 4;
  const auto in_even_parts = [&](int size, int floats, int unit) {
    const int most = std::max(unit, floats / depth);
    const int parts = std::max(1, (size + most / 2) / most);
    return rounded_up(divided_up(size, parts), unit);
  };
  const auto pays = [&](int used_columns) {  // the number comes first: small products cannot wait for the other
    return used_columns >= kSliversToPackFor * simd.width() ||
           (used_columns >= kIfRowsCollide * simd.width() && rows_collide(simd, lda));
  };
  const bool is_one_block = 2.0 * rows * depth < 3.0 * half_caches().l2;  // told without a division, for small products
  if (is_one_block) return {rows, columns, false, pays(columns)};
  const int high = in_even_parts(rows, half_caches().l2, simd.rows);
  const int wide = in_even_parts(columns, half_caches().l3 / 2 / threads, simd.width());
  return {high, wide, true, pays(wide)};
}

/// The tiles that `rows` rows make up: as many as must be, none more than a row higher than another.
struct EvenTiles {
  int count, least, higher;  ///< rows of the lower ones; how many are a row higher: the first ones

  EvenTiles(int rows, int most) : count(divided_up(rows, most)), least(rows / count), higher(rows - count * least) {}
  int height(int tile) const { return least + (tile < higher); }
};

/// Packs `rows` rows of A as panels of its tiles, `depth` steps long, one after the other.
void pack_block(const MicroKernels& simd, const float* a, std::ptrdiff_t lda, int rows, int depth, float* panels) {
  const EvenTiles tiles(rows, simd.rows);
  for (int i = 0; i < tiles.count; ++i) {
    const std::ptrdiff_t high = tiles.height(i);
    simd.pack_panel(a, lda, static_cast<int>(high), depth, panels);
    a += high * lda;
    panels += high * depth;
  }
}

/// One sliver's columns of C: the tiles from top to bottom. `from` says where the first one finds B; they ask for
/// tile.k rows of the next sliver, from tile.next_b on, if that is not null.
void multiply_sliver(const MicroKernels& simd, Tile tile, const EvenTiles& tiles, bool in_panels, FromB from) {
  const bool asks_for_rows = !in_panels && from != FromB::matrix && tile.k > 64;
  tile.a_is_panel = in_panels;
  int to_ask_for = tile.next_b && from != FromB::matrix ? tile.k : 0;
  const int each = to_ask_for > 0 ? divided_up(to_ask_for, tiles.count) : 0;
  MicroKernels::Run run = nullptr;
  for (int i = 0; i < tiles.count; ++i) {
    const int high = tiles.height(i);
    // Looked up only where it may change: a small product has many tiles, and looking up takes a division.
    if (i <= 1 || i == tiles.higher) run = simd.tile(from, high, tile.columns);
    tile.next_count = std::min(each, to_ask_for);
    tile.next_rows = asks_for_rows && i + 1 < tiles.count;
    run(tile);
    if (from == FromB::packing) from = FromB::sliver, tile.b = tile.sliver;
    tile.a += high * (in_panels ? tile.k : tile.lda);
    tile.c += high * tile.ldc;
    tile.next_b += tile.next_count * tile.next_stride;
    to_ask_for -= tile.next_count;
  }
}

/// A block of rows on a panel: tile.a, b and c are its first elements, tile.columns all its columns. `from` says where
/// B is found; the slivers begin at tile.sliver, `stride` floats apart.
void multiply_block(const MicroKernels& simd, const Tile& block, int rows, bool in_panels, FromB from,
                    std::ptrdiff_t stride) {
  const EvenTiles tiles(rows, simd.rows);
  for (int col = 0; col < block.columns; col += simd.width()) {
    Tile tile = block;
    const int further = block.columns - col - simd.width();
    tile.columns = std::min(simd.width(), block.columns - col);
    tile.sliver = block.sliver + col / simd.width() * stride;
    tile.b = from == FromB::sliver ? tile.sliver : block.b + col;
    tile.c = block.c + col;
    tile.next_stride = from == FromB::sliver ? simd.sliver_width(std::min(simd.width(), further)) : tile.ldb;
    tile.next_b = further <= 0 ? nullptr : from == FromB::sliver ? tile.sliver + stride : tile.b + simd.width();
    multiply_sliver(simd, tile, tiles, in_panels, from);
  }
}

/// A sliver of B is packed if it is kept, or if `high` rows are enough to pay for it.
bool packs_for(const Matmul<float>& it, const MicroKernels& simd, int kc, int high, bool is_kept) {
  return !is_small(kc * it.ldb) && (is_kept || high > (kTilesToPackFor - 1) * simd.rows);
}

/// A piece of C, by one thread.
void multiply_piece(const Matmul<float>& it, const MicroKernels& all, int kc, const Piece& piece) {
  const auto& [rows, columns] = piece;
  const MicroKernels& simd = tiles_for(all, kc * it.ldb, columns.size());
  static thread_local Workspace place_of_a, place_of_b;
  const Blocks blocks = blocks_for(simd, rows.size(), columns.size(), kc, it.lda, omp_get_num_threads());
  const std::ptrdiff_t sliver = std::ptrdiff_t{kc} * simd.width();
  float* slivers = place_of_b.reserve(blocks.is_kept ? std::size_t(kc) * blocks.columns : std::size_t(sliver));
  float* panels = blocks.packs_a ? place_of_a.reserve(std::size_t(blocks.rows) * kc) : nullptr;
  const auto where_b_is = [&](int rows_done, int high) {
    if (!packs_for(it, simd, kc, high, blocks.is_kept)) return FromB::matrix;
    return blocks.is_kept && rows_done > 0 ? FromB::sliver : FromB::packing;
  };
  for (int left = columns.begin; left < columns.end; left += blocks.columns)
    for (int first = 0; first < it.k; first += kc)
      for (int top = rows.begin; top < rows.end; top += blocks.rows) {
        const int depth = std::min(kc, it.k - first), high = std::min(blocks.rows, rows.end - top);
        const float* a = it.a + top * it.lda + first;
        if (panels) pack_block(simd, a, it.lda, high, depth, panels);
        multiply_block(simd,
                       {.k = depth,
                        .columns = std::min(blocks.columns, columns.end - left),
                        .a = panels ? panels : a,
                        .b = it.b + first * it.ldb + left,
                        .c = it.c + top * it.ldc + left,
                        .lda = it.lda,
                        .ldb = it.ldb,
                        .ldc = it.ldc,
                        .alpha = it.alpha,
                        .beta = first == 0 ? it.beta : 1,
                        .sliver = slivers},
                       high, panels, where_b_is(top - rows.begin, high), blocks.is_kept ? sliver : 0);
      }
}

/// Steps of k before the next block, at most `depth`.
int depth_for(const Matmul<float>& it, const MicroKernels& simd, int depth) {
  const int deepest = it.m <= kFewTiles * simd.rows ? std::min(depth, kShallow) : depth;
  if (it.k <= deepest) return rounded_up(it.k, 8);
  return rounded_up(divided_up(it.k, divided_up(it.k, deepest)), 8);  // even parts, no thin last one
}

GuidedPieces pieces_for(const Matmul<float>& it, const MicroKernels& simd, int threads) {
  return {grid_for(threads, it.m, it.n), it.m, it.n, simd.rows, simd.width()};
}

void matmul_fused(const Matmul<float>& it, const MicroKernels& simd, int depth) {
  const int threads = worthwhile_threads(it, simd);
  if (is_skinny(it)) return stream_product(it, simd, threads);
  const int kc = depth_for(it, simd, depth);
  if (threads == 1) return multiply_piece(it, simd, kc, {{0, it.m}, {0, it.n}});
  std::atomic<int> taken = 0;  // after the first ones
#pragma omp parallel num_threads(threads)
  {
    GuidedPieces pieces = pieces_for(it, simd, threads);
    for (int i = omp_get_thread_num(); pieces.reach(i); i = omp_get_num_threads() + taken++)
      if (pieces.piece().size() > 0) multiply_piece(it, simd, kc, pieces.piece());
  }
}

/// By the path that matmul_fused takes.
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
                     .copied_rows = blocks.packs_a ? blocks.rows : 0,
                     .slivers = !packs           ? Slivers::none
                                : blocks.is_kept ? Slivers::panel
                                                 : Slivers::one,
                     .packs_computing = packs};
  });
}

const bool added = add_kernel({
    .name = "cpu/matmul/fused",
    .order = 80,
    .title = "fused packing",
    .idea = "The first row of tiles packs B while it computes; deep slivers, prefetched; threads take parts as they "
            "become free.",
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
