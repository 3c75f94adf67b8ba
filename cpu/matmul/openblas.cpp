/// The peer among BLAS libraries: OpenBLAS's hand-written micro-kernels, chosen for this CPU at run time.
#include <cblas.h>
#include <omp.h>

#include "common/problem/matmul.hpp"

namespace rung {
namespace {

void matmul_openblas(const float* a, const float* b, float* c, int m, int n, int k) {
  // OpenBLAS may keep threads of its own, and counts them by itself: as many as every other kernel here uses.
  if (const int threads = omp_get_max_threads(); openblas_get_num_threads() != threads)
    openblas_set_num_threads(threads);
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1, a, k, b, n, 0, c, n);
}

/// "OpenBLAS 0.3.21", without the blanks around it in the library's header.
std::string version() {
  const std::string text = OPENBLAS_VERSION;
  const std::size_t start = text.find_first_not_of(' ');
  return text.substr(start, text.find_last_not_of(' ') + 1 - start);
}

const bool added = add_kernel({
    .name = "cpu/matmul/openblas",
    .order = 90,
    .title = "OpenBLAS",
    .idea = "The peer among BLAS libraries: packed panels and a hand-written micro-kernel for this CPU, all threads.",
    .source = version() + ", cblas_sgemm",
    .is_library = true,
    .run =
        [](const Call& call) {
          const auto [m, n, k] = matmul_shape(call.params);
          matmul_openblas(call.operand<const float>(0), call.operand<const float>(1), call.operand<float>(2), m, n, k);
        },
});

}  // namespace
}  // namespace rung
