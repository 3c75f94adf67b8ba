/// "copy_strided": y = every stride-th element of x, from `offset` on. One array is read with gaps or off the
/// boundaries of sectors and lines, the other is written without: what is measured is how addresses become transfers.
///
/// Sizes     n: elements of x; stride, offset: in elements, 1 and 0 if not given, the offset below n;
///           width: bytes of an element, 4, 8 or 16, 4 if not given.
/// Operand 0 `x`, input: n elements of `width` bytes, that is n width / 4 float32.
/// Operand 1 `y`, output: as many elements as there are multiples of the stride below n - offset.
/// Formula   y[i] = x[offset + i stride], bit for bit. Useful bytes: each element of y, read once and written once;
///           the experiment counts the bytes that are moved in addition.
#pragma once

#include <cstdint>

#include "common/registry.hpp"

namespace rung {

/// Elements of y.
inline std::int64_t strided_elements(const Params& p) {
  return (p.at("n") - p.at("offset") + p.at("stride") - 1) / p.at("stride");
}

/// Bytes of y; the same number is read from x.
inline double strided_bytes(const Params& p) { return static_cast<double>(strided_elements(p) * p.at("width")); }

}  // namespace rung
