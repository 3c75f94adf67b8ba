/// "copy": to = from, to measure how fast memory is read and written at once.
///
/// Sizes     bytes: of one array, a multiple of 256 (so 16- and 64-byte accesses need no tail).
/// Operand 0 `from`, input: bytes / 4 elements of float32.
/// Operand 1 `to`, output: as many.
/// Formula   to[i] = from[i], bit for bit. Compulsory bytes: 2 x bytes, one read and one write of each element.
#pragma once

#include <cstdint>

#include "common/registry.hpp"

namespace rung {

/// Arrays are whole multiples of this.
constexpr std::int64_t kCopyGranule = 256;

inline double copy_bytes(const Params& p) { return 2.0 * p.at("bytes"); }

}  // namespace rung
