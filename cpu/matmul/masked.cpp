/// Edges by masks, and no packing that does not pay. The tile of fewer rows or columns is a micro-kernel of its own,
/// whose last vector is masked: no padding, no scalar tail, no detour through a buffer. A is read where it lies, since
/// a tile uses each of its lines at once; B is packed only if several tiles use it, by each thread for itself, so that
/// no thread waits for another. A product of a few rows is streamed along the rows of B. Source: masked loads and
/// stores of AVX2 and AVX-512; Goto, van de Geijn 2008, on when packing pays.
#include <omp.h>

#include "cpu/matmul/blocking.hpp"
#include "cpu/matmul/skinny.hpp"

namespace rung {
namespace {

/// A sliver that fewer tiles use is read from the matrix.
constexpr int kTilesToPackFor = 3;

void copy_sliver(const float* b, std::ptrdiff_t ldb, int depth, int columns, int width, float* to) {
  for (int p = 0; p < depth; ++p) std::copy_n(b + p * ldb, columns, to + std::ptrdiff_t{p} * width);
}

/// The part of C at `rows` and `columns`, by one thread.
void multiply_part(const Matmul<float>& it, const MicroKernels& simd, int kc, Part rows, Part columns) {
  static thread_local Workspace workspace;
  float* sliver = workspace.reserve(std::size_t(kc) * simd.width());
  const bool packs = rows.size() >= kTilesToPackFor * simd.rows;
  for (int first = 0; first < it.k; first += kc)
    for (int col = columns.begin; col < columns.end; col += simd.width()) {
      const int depth = std::min(kc, it.k - first), wide = std::min(simd.width(), columns.end - col);
      const float* b = it.b + first * it.ldb + col;
      if (packs) copy_sliver(b, it.ldb, depth, wide, simd.sliver_width(wide), sliver);
      for (int row = rows.begin; row < rows.end; row += simd.rows) {
        const int high = std::min(simd.rows, rows.end - row);
        simd.tile(packs ? FromB::sliver : FromB::matrix, high, wide)({.k = depth,
                                                                      .columns = wide,
                                                                      .a = it.a + row * it.lda + first,
                                                                      .b = packs ? sliver : b,
                                                                      .c = it.c + row * it.ldc + col,
                                                                      .lda = it.lda,
                                                                      .ldb = it.ldb,
                                                                      .ldc = it.ldc,
                                                                      .alpha = it.alpha,
                                                                      .beta = first == 0 ? it.beta : 1});
      }
    }
}

void matmul_masked(const Matmul<float>& it, const MicroKernels& simd) {
  if (is_skinny(it)) return stream_product(it, simd, omp_get_max_threads());
  const int kc = blocking_for(simd, {it.m, it.n, it.k}).kc;
#pragma omp parallel
  {
    const Grid grid = grid_for(omp_get_num_threads(), it.m, it.n);
    const Part rows = grid.rows(omp_get_thread_num(), it.m, 1);
    const Part columns = grid.columns(omp_get_thread_num(), it.n, simd.lanes);
    if (rows.size() > 0 && columns.size() > 0) multiply_part(it, simd, kc, rows, columns);
  }
}

const bool added = add_kernel({
    .name = "cpu/matmul/masked",
    .order = 70,
    .title = "masked edges",
    .idea = "Edges by masked vectors, A read in place, B packed by each thread for itself and only where it pays.",
    .source = "masked loads and stores; Goto, van de Geijn 2008",
    .is_general = true,
    .tunables = {simd_tunable()},
    .refuse = refuse_simd,
    .run =
        [](const Call& call) {
          const Matmul<float> it = matmul_of(call);
          if (it.alpha == 0) return scale_output(it);
          matmul_masked(it, micro_kernels(call.params.at("simd")));
        },
});

}  // namespace
}  // namespace rung
