/// "transpose": B = A^T. Nothing is computed; one of the two matrices is met across its rows.
///
/// Sizes     n: columns of A; m: rows of A, n if not given; either up to 2^18, what a grid of tiles can cover.
/// Operand 0 `a`, input: m x n float32 by rows. Operand 1 `b`, output: n x m by rows.
/// Formula   B[j][i] = A[i][j], bit for bit. Compulsory bytes: 8 m n, one read and one write of each element, so the
///           roof is the rate of a copy.
#pragma once

#include <cstdint>

#include "common/registry.hpp"

namespace rung {

/// A's elements, which are B's.
inline double transpose_elements(const Params& p) { return static_cast<double>(p.at("m") * p.at("n")); }

}  // namespace rung
