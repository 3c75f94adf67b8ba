/// The packed product with two parallel loops: the threads form a grid over rows and columns of C, in one parallel
/// region with barriers where packed operands are exchanged. All threads pack, each is the first to touch the memory
/// that it packs to, and no thread waits for a single one to pack B. Source: Smith, van de Geijn, Smelyanskiy, Hammond,
/// Van Zee: Anatomy of High-Performance Many-Threaded Matrix Multiplication (2014).
#include "cpu/matmul/grid.hpp"
#include "cpu/matmul/level_traffic.hpp"
#include "cpu/matmul/packing.hpp"

namespace rung {
namespace {

struct Packed {
  float *a, *b;  ///< all rows of A; up to nc columns of B
};

/// This thread's share of packing A's columns and B's rows [first, first + depth).
void pack_share(const Matmul<float>& it, const MicroKernels& simd, const Packed& to, int first, int depth, int left,
                int columns) {
#pragma omp for schedule(static) nowait
  for (int row = 0; row < it.m; row += simd.rows)
    pack_padded_a(it.a + row * it.lda + first, it.lda, std::min(simd.rows, it.m - row), depth, simd.rows,
                  to.a + std::ptrdiff_t{row} * depth);
#pragma omp for schedule(static)
  for (int col = 0; col < columns; col += simd.width())
    pack_padded_b(it.b + first * it.ldb + left + col, it.ldb, depth, std::min(simd.width(), columns - col),
                  simd.width(), to.b + std::ptrdiff_t{col} * depth);
}

void matmul_two_loops(const Matmul<float>& it, const MicroKernels& simd) {
  const Blocking blocking = blocking_for(simd, {it.m, it.n, it.k});
  const int kc = blocking.kc, mc = blocking.mc, nc = blocking.nc;
  static Workspace of_a, of_b;
  const Packed packed{of_a.reserve(std::size_t(kc) * rounded_up(it.m, simd.rows)),
                      of_b.reserve(std::size_t(kc) * rounded_up(std::min(nc, it.n), simd.width()))};
#pragma omp parallel proc_bind(close)
  for (int left = 0; left < it.n; left += nc)
    for (int first = 0; first < it.k; first += kc) {
      const int columns = std::min(nc, it.n - left), depth = std::min(kc, it.k - first);
      const Grid grid = grid_for(omp_get_num_threads(), it.m, columns);
      pack_share(it, simd, packed, first, depth, left, columns);
      const Part rows = grid.rows(omp_get_thread_num(), it.m, simd.rows);
      const Part cols = grid.columns(omp_get_thread_num(), columns, simd.width());
      for (int top = rows.begin; top < rows.end; top += mc)
        multiply_packed(simd, packed.a + std::ptrdiff_t{top} * depth, packed.b + std::ptrdiff_t{cols.begin} * depth,
                        depth, std::min(mc, rows.end - top), cols.end - cols.begin,
                        it.c + top * it.ldc + left + cols.begin, it.ldc, it.alpha, first == 0 ? it.beta : 1);
#pragma omp barrier
    }
}

const bool added = add_kernel({
    .name = "cpu/matmul/two_loops",
    .order = 60,
    .title = "two parallel loops",
    .idea = "The threads form a grid over rows and columns of C and pack together, in one parallel region.",
    .source = {{"smith2014"}},
    .is_general = true,
    .tunables = {simd_tunable()},
    .refuse = refuse_simd,
    .cpu = {.level_traffic =
                [](const Params& p) {
                  const MicroKernels& simd = micro_kernels(p.at("simd"));
                  const auto [kc, mc, nc] = blocking_for(simd, matmul_shape(p));
                  return packed_traffic(matmul_shape(p), simd.rows, simd.width(), kc, mc, nc, omp_get_max_threads());
                }},
    .run =
        [](const Call& call) {
          const Matmul<float> it = matmul_of(call);
          if (it.alpha == 0) return scale_output(it);
          matmul_two_loops(it, micro_kernels(call.params.at("simd")));
        },
});

}  // namespace
}  // namespace rung
