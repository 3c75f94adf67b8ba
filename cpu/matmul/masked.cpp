/// Masked edges, and packing only where it pays. Tiles with fewer rows or columns are separate micro-kernels, with a
/// masked last vector: no padding, no scalar remainder loop, no temporary buffer. Where the parts of A and B that a
/// thread reads fit its L2, nothing is packed for other threads: each thread reads A in place and packs for itself the
/// micro-panels of B that several tiles use, and no thread waits for another. A product of a few rows is streamed along
/// the rows of B. Source: masked loads and stores of AVX2 and AVX-512; Goto, van de Geijn 2008, on when packing pays.
#include <omp.h>

#include "cpu/matmul/blocking.hpp"
#include "cpu/matmul/level_traffic.hpp"
#include "cpu/matmul/skinny.hpp"

namespace rung {
namespace {

void pack_b(const float* b, std::ptrdiff_t ldb, int depth, int columns, int width, float* to) {
  for (int p = 0; p < depth; ++p) std::copy_n(b + p * ldb, columns, to + std::ptrdiff_t{p} * width);
}

/// A column of tiles over `rows` rows; `tile` is the first one.
void multiply_column(const MicroKernels& simd, FromB from, Tile tile, int rows) {
  for (int row = 0; row < rows; row += simd.rows) {
    simd.tile(from, std::min(simd.rows, rows - row), tile.columns)(tile);
    tile.a += simd.rows * (tile.a_is_packed ? tile.k : tile.lda);
    tile.c += simd.rows * tile.ldc;
  }
}

/// Whether packing a micro-panel of B pays for `rows` rows of C.
bool packs_for(const MicroKernels& simd, int rows) { return rows >= kTilesToPackFor * simd.rows; }

/// The part of C at `rows` and `columns`, by one thread without the others.
void multiply_alone(const Matmul<float>& it, const MicroKernels& simd, int kc, Part rows, Part columns) {
  static thread_local Workspace workspace;
  float* packed_b = workspace.reserve(std::size_t(kc) * simd.width());
  const bool packs = packs_for(simd, rows.size());
  for (int first = 0; first < it.k; first += kc)
    for (int col = columns.begin; col < columns.end; col += simd.width()) {
      const int depth = std::min(kc, it.k - first), wide = std::min(simd.width(), columns.end - col);
      const float* b = it.b + first * it.ldb + col;
      if (packs) pack_b(b, it.ldb, depth, wide, simd.packed_width(wide), packed_b);
      multiply_column(simd, packs ? FromB::packed : FromB::matrix,
                      {.k = depth,
                       .columns = wide,
                       .a = it.a + rows.begin * it.lda + first,
                       .b = packs ? packed_b : b,
                       .c = it.c + rows.begin * it.ldc + col,
                       .lda = it.lda,
                       .ldb = it.ldb,
                       .ldc = it.ldc,
                       .alpha = it.alpha,
                       .beta = first == 0 ? it.beta : 1},
                      rows.size());
    }
}

void multiply_small(const Matmul<float>& it, const MicroKernels& simd, int kc) {
#pragma omp parallel
  {
    const Grid grid = grid_for(omp_get_num_threads(), it.m, it.n);
    const Part rows = grid.rows(omp_get_thread_num(), it.m, 1);
    const Part columns = grid.columns(omp_get_thread_num(), it.n, simd.lanes);
    if (rows.size() > 0 && columns.size() > 0) multiply_alone(it, simd, kc, rows, columns);
  }
}

/// As in two_loops, but with masked tiles, so that micro-panels need hardly any padding.
void multiply_packed(const Matmul<float>& it, const MicroKernels& simd, const Blocking& blocking) {
  const int kc = blocking.kc, mc = blocking.mc, nc = blocking.nc;
  static Workspace of_a, of_b;
  float* packed_a = of_a.reserve(std::size_t(it.m) * std::size_t(kc));
  float* packed_b = of_b.reserve(std::size_t(kc) * std::size_t(rounded_up(std::min(nc, it.n), simd.width())));
#pragma omp parallel proc_bind(close)
  for (int left = 0; left < it.n; left += nc)
    for (int first = 0; first < it.k; first += kc) {
      const int columns = std::min(nc, it.n - left), depth = std::min(kc, it.k - first);
      const Grid grid = grid_for(omp_get_num_threads(), it.m, columns);
#pragma omp for schedule(static) nowait
      for (int row = 0; row < it.m; row += simd.rows)
        simd.pack_a(it.a + row * it.lda + first, it.lda, std::min(simd.rows, it.m - row), depth,
                    packed_a + std::ptrdiff_t{row} * depth);
#pragma omp for schedule(static)
      for (int col = 0; col < columns; col += simd.width()) {
        const int wide = std::min(simd.width(), columns - col);
        pack_b(it.b + first * it.ldb + left + col, it.ldb, depth, wide, simd.packed_width(wide),
               packed_b + std::ptrdiff_t{col} * depth);
      }
      const Part rows = grid.rows(omp_get_thread_num(), it.m, simd.rows);
      const Part cols = grid.columns(omp_get_thread_num(), columns, simd.width());
      for (int top = rows.begin; top < rows.end; top += mc)
        for (int col = cols.begin; col < cols.end; col += simd.width())
          multiply_column(simd, FromB::packed,
                          {.k = depth,
                           .columns = std::min(simd.width(), columns - col),
                           .a = packed_a + std::ptrdiff_t{top} * depth,
                           .b = packed_b + std::ptrdiff_t{col} * depth,
                           .c = it.c + top * it.ldc + left + col,
                           .ldc = it.ldc,
                           .a_is_packed = true,
                           .alpha = it.alpha,
                           .beta = first == 0 ? it.beta : 1},
                          std::min(mc, rows.end - top));
#pragma omp barrier
    }
}

/// Whether the rows of A and columns of B that a thread reads fit its L2.
bool is_small(const Matmul<float>& it) {
  const Grid grid = grid_for(omp_get_max_threads(), it.m, it.n);
  const double lines = double(it.m) / grid.down + double(it.n) / grid.across;
  return lines * it.k <= 2.0 * half_caches().l2;
}

void matmul_masked(const Matmul<float>& it, const MicroKernels& simd) {
  if (is_skinny(it)) return stream_product(it, simd, omp_get_max_threads());
  const Blocking blocking = blocking_for(simd, {it.m, it.n, it.k});
  if (is_small(it))
    multiply_small(it, simd, blocking.kc);
  else
    multiply_packed(it, simd, blocking);
}

/// For the path that matmul_masked takes.
LevelTraffic traffic_of_masked(const Matmul<float>& it, const MicroKernels& simd) {
  const MatmulShape shape{it.m, it.n, it.k};
  const int threads = omp_get_max_threads(), mr = simd.rows, nr = simd.width();
  if (is_skinny(it)) return streamed_traffic(shape, simd.lanes, threads);
  const auto [kc, mc, nc] = blocking_for(simd, shape);
  if (is_small(it))
    return tiles_traffic(shape, grid_for(threads, it.m, it.n), 1, simd.lanes, [&, kc = kc](int rows, int columns) {
      const PackedB packed_b = packs_for(simd, rows) ? PackedB::micro_panel : PackedB::none;
      return TileLoops{.mr = mr, .nr = nr, .kc = kc, .mc = rows, .nc = columns, .packed_b = packed_b};
    });
  const Grid grid = grid_for(threads, it.m, std::min(nc, it.n));
  return tiles_traffic(shape, grid, mr, nr, [&, kc = kc, mc = mc, nc = nc](int rows, int) {
    return TileLoops{.mr = mr,
                     .nr = nr,
                     .kc = kc,
                     .mc = mc,
                     .nc = divided_up(nc, grid.across),
                     .packed_rows = rows,
                     .packed_b = PackedB::panel,
                     .is_shared = true};
  });
}

const bool added = add_kernel({
    .name = "cpu/matmul/masked",
    .order = 70,
    .title = "masked edges",
    .idea = "Masked vectors at the edges; no packing for other threads where a thread's operands fit its L2.",
    .source = {{"goto2008"}, {"intel-optimization", "masked loads and stores"}},
    .is_general = true,
    .tunables = {simd_tunable()},
    .refuse = refuse_simd,
    .cpu = {.level_traffic =
                [](const Params& p) { return traffic_of_masked(matmul_sizes(p), micro_kernels(p.at("simd"))); }},
    .run =
        [](const Call& call) {
          const Matmul<float> it = matmul_of(call);
          if (it.alpha == 0) return scale_output(it);
          matmul_masked(it, micro_kernels(call.params.at("simd")));
        },
});

}  // namespace
}  // namespace rung
