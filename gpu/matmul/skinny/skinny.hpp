/// Shared by the kernels of the skinny product: A (m x 16) times B (16 x n). A single tile covers the whole depth, so
/// there is no loop over phases. 16 x 16 threads compute a tile of C, one element each.
/// Floor: 32 operations and 4 bytes stored for each element of C. With 8 operations per byte, storing C takes longer
/// than computing it; A and B together are small.
/// Source: Blakely, Writing and Compiling a CUDA Code, "Shared memory and performance".
#pragma once

#include "common/problem/matmul.hpp"
#include "gpu/simt/simt.hpp"

namespace rung {

constexpr int kSkinnyDepth = 16;  // of the product, and the width of a tile

inline std::string refuse_depth(const Params& p) {
  return matmul_shape(p).k == kSkinnyDepth ? "" : "k must be 16: the kernel is for a product of that depth alone";
}

inline Launch skinny_launch(const Params& p) {
  const auto [m, n, k] = matmul_shape(p);
  return Launch{{blocks_for(n, kSkinnyDepth), blocks_for(m, kSkinnyDepth)}, {kSkinnyDepth, kSkinnyDepth}};
}

/// Bytes that are loaded if each block loads its rows of A, or its columns of B, once.
inline double bytes_of_a_tiles(const Params& p) {
  const auto [m, n, k] = matmul_shape(p);
  return 4.0 * m * kSkinnyDepth * blocks_for(n, kSkinnyDepth);
}
inline double bytes_of_b_tiles(const Params& p) {
  const auto [m, n, k] = matmul_shape(p);
  return 4.0 * n * kSkinnyDepth * blocks_for(m, kSkinnyDepth);
}
/// The same if each thread loads them for itself.
inline double bytes_of_all_threads(const Params& p) {
  const auto [m, n, k] = matmul_shape(p);
  return 4.0 * m * n * kSkinnyDepth;
}
inline double bytes_of_c(const Params& p) {
  const auto [m, n, k] = matmul_shape(p);
  return 4.0 * m * n;
}

}  // namespace rung
