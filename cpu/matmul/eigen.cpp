/// The peer among C++ template libraries: Eigen's blocked and packed product, on OpenMP's number of threads.
// g++ 12 warns about the deliberately undefined operands of its own AVX-512 intrinsics (GCC bug 105593).
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <omp.h>

#include <Eigen/Core>

#include "common/problem/matmul.hpp"

namespace rung {
namespace {

using RowMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Stride = Eigen::OuterStride<>;

void matmul_eigen(const Matmul<>& it) {
  Eigen::setNbThreads(omp_get_max_threads());
  if (Eigen::nbThreads() != omp_get_max_threads())
    throw Error("Eigen uses " + std::to_string(Eigen::nbThreads()) + " threads, not " +
                std::to_string(omp_get_max_threads()));
  if (it.alpha == 0) return scale_output(it);
  const Eigen::Map<const RowMajor, 0, Stride> a(it.a, it.m, it.k, Stride(it.lda));
  const Eigen::Map<const RowMajor, 0, Stride> b(it.b, it.k, it.n, Stride(it.ldb));
  Eigen::Map<RowMajor, 0, Stride> c(it.c, it.m, it.n, Stride(it.ldc));
  // noalias: straight into C, without a temporary.
  if (it.beta == 0) {
    c.noalias() = it.alpha * a * b;
  } else {
    if (it.beta != 1) c *= it.beta;
    c.noalias() += it.alpha * a * b;
  }
}

std::string version() {
  return std::to_string(EIGEN_WORLD_VERSION) + "." + std::to_string(EIGEN_MAJOR_VERSION) + "." +
         std::to_string(EIGEN_MINOR_VERSION);
}

const bool added = add_kernel({
    .name = "cpu/matmul/eigen",
    .order = 100,
    .title = "Eigen",
    .idea = "The peer among C++ template libraries: blocks packed for the caches, SIMD micro-kernel, all threads.",
    .source = {{"eigen", version()}},
    .is_library = true,
    .is_general = true,
    .run = [](const Call& call) { matmul_eigen(matmul_of(call)); },
});

}  // namespace
}  // namespace rung
