/// C = A B in row-major float32: A is m x k, B is k x n, C is m x n (the textbook's P = M N of j x k and k x l).
#pragma once

#include "common/registry.hpp"

namespace rung {

struct MatmulShape {
  int m = 0, n = 0, k = 0;
};

inline MatmulShape matmul_shape(const Params& p) {
  return {static_cast<int>(p.at("m")), static_cast<int>(p.at("n")), static_cast<int>(p.at("k"))};
}

/// Useful operations: one multiplication and one addition per element of the m x n x k cube.
inline double matmul_flops(const MatmulShape& s) { return 2.0 * s.m * s.n * s.k; }

/// The message for kernels that take square matrices only; empty if they are square.
inline std::string refuse_rectangular(const MatmulShape& s) {
  return s.m == s.n && s.n == s.k ? "" : "takes square matrices only: give --n alone, or use a rectangular kernel";
}

}  // namespace rung
