/// The peer among C++ template libraries: Eigen's assignment of a transpose, which Eigen does not divide among threads.
// g++ 12 warns about the deliberately undefined operands of its own AVX-512 intrinsics (GCC bug 105593).
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <Eigen/Core>

#include "common/problem/transpose.hpp"

namespace rung {
namespace {

using RowMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

void transpose_eigen(const Call& call) {
  const std::int64_t rows = call.params.at("m"), cols = call.params.at("n");
  const Eigen::Map<const RowMajor> a(call.operand<const float>(0), rows, cols);
  Eigen::Map<RowMajor>(call.operand<float>(1), cols, rows).noalias() = a.transpose();
}

std::string version() {
  return std::to_string(EIGEN_WORLD_VERSION) + "." + std::to_string(EIGEN_MAJOR_VERSION) + "." +
         std::to_string(EIGEN_MINOR_VERSION);
}

const bool added = add_kernel({
    .name = "cpu/transpose/eigen",
    .order = 100,
    .title = "Eigen",
    .idea = "The peer among C++ template libraries, which assigns a transpose on one thread.",
    .source = {{"eigen", version()}},
    .is_library = true,
    .cpu = {.is_serial = true},
    .run = transpose_eigen,
});

}  // namespace
}  // namespace rung
