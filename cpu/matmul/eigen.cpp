/// The peer from C++ template libraries: Eigen's blocked and packed product, on as many threads as OpenMP has.
// g++ 12 takes the deliberately undefined operands of its own AVX-512 intrinsics for a mistake (GCC bug 105593).
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <Eigen/Core>

#include "common/problem/matmul.hpp"

namespace rung {
namespace {

using RowMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// noalias: straight into C, without a temporary.
void matmul_eigen(const float* a, const float* b, float* c, int m, int n, int k) {
  Eigen::Map<RowMajor>(c, m, n).noalias() = Eigen::Map<const RowMajor>(a, m, k) * Eigen::Map<const RowMajor>(b, k, n);
}

std::string version() {
  return std::to_string(EIGEN_WORLD_VERSION) + "." + std::to_string(EIGEN_MAJOR_VERSION) + "." +
         std::to_string(EIGEN_MINOR_VERSION);
}

const bool added = add_kernel({
    .name = "cpu/matmul/eigen",
    .order = 80,
    .title = "Eigen",
    .idea = "The peer among C++ template libraries: blocks packed for the caches, SIMD micro-kernel, all threads.",
    .source = "Eigen " + version(),
    .is_library = true,
    .run =
        [](const Call& call) {
          const auto [m, n, k] = matmul_shape(call.params);
          matmul_eigen(call.operand<const float>(0), call.operand<const float>(1), call.operand<float>(2), m, n, k);
        },
});

}  // namespace
}  // namespace rung
