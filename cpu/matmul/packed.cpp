/// Packed operands, as in BLIS: A and B are copied into micro-panels, in the order in which the micro-kernel reads
/// them, blocked so that each level stays in its cache: a micro-panel of B in L1, a block of A in L2, a panel of B in
/// L3. The rows of C are divided among the threads; the panel of B is packed by one thread and read by all. Source:
/// Goto, van de Geijn 2008; Van Zee, van de Geijn: BLIS (2015).
#include <omp.h>

#include "cpu/matmul/level_traffic.hpp"
#include "cpu/matmul/packing.hpp"

namespace rung {
namespace {

void matmul_packed(const Matmul<float>& it, const MicroKernels& simd) {
  const Blocking blocking = blocking_for(simd, {it.m, it.n, it.k});
  const int kc = blocking.kc, most_rows = blocking.mc, nc = blocking.nc;
  const int mc = std::min(most_rows, rounded_up(divided_up(it.m, omp_get_max_threads()), simd.rows));
  static Workspace panel_of_b;
  float* packed_b = panel_of_b.reserve(std::size_t(kc) * rounded_up(std::min(nc, it.n), simd.width()));
  for (int left = 0; left < it.n; left += nc)
    for (int first = 0; first < it.k; first += kc) {
      const int columns = std::min(nc, it.n - left), depth = std::min(kc, it.k - first);
      const float beta = first == 0 ? it.beta : 1;
      for (int col = 0; col < columns; col += simd.width())
        pack_padded_b(it.b + first * it.ldb + left + col, it.ldb, depth, std::min(simd.width(), columns - col),
                      simd.width(), packed_b + std::ptrdiff_t{col} * depth);
#pragma omp parallel for schedule(dynamic)
      for (int top = 0; top < it.m; top += mc) {
        static thread_local Workspace block_of_a;
        const int height = std::min(mc, it.m - top);
        float* packed_a = block_of_a.reserve(std::size_t(mc) * kc);
        for (int row = 0; row < height; row += simd.rows)
          pack_padded_a(it.a + (top + row) * it.lda + first, it.lda, std::min(simd.rows, height - row), depth,
                        simd.rows, packed_a + std::ptrdiff_t{row} * depth);
        multiply_packed(simd, packed_a, packed_b, depth, height, columns, it.c + top * it.ldc + left, it.ldc, it.alpha,
                        beta);
      }
    }
}

const bool added = add_kernel({
    .name = "cpu/matmul/packed",
    .order = 50,
    .title = "packed",
    .idea =
        "A and B are copied in the order in which the register tile reads them, in blocks that stay in L1, L2 and L3.",
    .source = {{"goto2008"}, {"vanzee2015"}},
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
          matmul_packed(it, micro_kernels(call.params.at("simd")));
        },
});

}  // namespace
}  // namespace rung
