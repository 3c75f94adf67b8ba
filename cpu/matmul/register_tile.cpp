/// The SIMD micro-kernel: a tile of C stays in vector registers over many steps of k, and only A and B are loaded, in
/// place. Columns and rows that do not fill a tile are left to plain loops.
/// Source: register tiling; Goto, van de Geijn 2008, section 4.
#include <omp.h>

#include <algorithm>

#include "cpu/matmul/level_traffic.hpp"
#include "cpu/matmul/micro_kernel.hpp"

namespace rung {
namespace {

constexpr int kStrip = 64;  ///< columns that plain loops sum together: whole cache lines of B, and few sums

/// Columns [left, right) of one row of C, at most kStrip, along the rows of B.
void plain_part(const Matmul<float>& it, int row, int left, int right) {
  float sum[kStrip] = {};
  for (int p = 0; p < it.k; ++p)
    for (int col = left; col < right; ++col) sum[col - left] += it.a[row * it.lda + p] * it.b[p * it.ldb + col];
  for (int col = left; col < right; ++col) {
    float& c = it.c[row * it.ldc + col];
    c = it.alpha * sum[col - left] + (it.beta == 0 ? 0 : it.beta * c);
  }
}

/// Steps of k before the next tile: their part of A stays in L1 for the tiles to the right, their part of B in L2 for
/// the tiles below.
constexpr int kDepth = 64;

void matmul_register_tile(const Matmul<float>& it, const MicroKernels& simd) {
  const MicroKernels::Run run = simd.tile(FromB::matrix, simd.rows, simd.width());
  const int bottom = it.m / simd.rows * simd.rows, right = it.n / simd.width() * simd.width();
#pragma omp parallel
  {
    for (int first = 0; first < it.k;
         first += kDepth)  // static, so that each thread keeps its tiles and needs no barrier
#pragma omp for collapse(2) schedule(static) nowait
      for (int row = 0; row < bottom; row += simd.rows)
        for (int col = 0; col < right; col += simd.width())
          run({.k = std::min(kDepth, it.k - first),
               .columns = simd.width(),
               .a = it.a + row * it.lda + first,
               .b = it.b + first * it.ldb + col,
               .c = it.c + row * it.ldc + col,
               .lda = it.lda,
               .ldb = it.ldb,
               .ldc = it.ldc,
               .alpha = it.alpha,
               .beta = first == 0 ? it.beta : 1});
#pragma omp for schedule(static) nowait
    for (int row = 0; row < (right < it.n ? bottom : 0); ++row) plain_part(it, row, right, it.n);
#pragma omp for collapse(2) schedule(static) nowait
    for (int col = 0; col < it.n; col += kStrip)
      for (int row = bottom; row < it.m; ++row) plain_part(it, row, col, std::min(it.n, col + kStrip));
  }
}

const bool added = add_kernel({
    .name = "cpu/matmul/register_tile",
    .order = 40,
    .title = "register tile",
    .idea = "A tile of C stays in vector registers over many steps; A and B are read in place.",
    .source = {{"goto2008"}},
    .is_general = true,
    .tunables = {simd_tunable()},
    .refuse = refuse_simd,
    .cpu = {.level_traffic =
                [](const Params& p) {
                  const MicroKernels& simd = micro_kernels(p.at("simd"));
                  return register_tile_traffic(matmul_shape(p), simd.rows, simd.width(), kDepth, kStrip,
                                               omp_get_max_threads());
                }},
    .run =
        [](const Call& call) {
          const Matmul<float> it = matmul_of(call);
          if (it.alpha == 0) return scale_output(it);
          matmul_register_tile(it, micro_kernels(call.params.at("simd")));
        },
});

}  // namespace
}  // namespace rung
