/// "copy": to = from, to measure how fast a level of memory is read and written at once.
///
/// Sizes     bytes: of one array, a multiple of 256 (so 16- to 64-byte accesses need no tail); passes: how often the
///           array is copied in one call, 1 if not given. More than one requires a kernel with is_general.
/// Operand 0 `from`, input: bytes / 4 elements of float32.
/// Operand 1 `to`, output: likewise.
/// Formula   to[i] = from[i], bit for bit. Compulsory bytes: 2 x bytes for each pass, one read and one write of each
///           element.
///
/// A second pass changes nothing that the oracle could see, so a compiler may leave it out: put
/// `asm volatile("" ::: "memory")` between passes. That every pass is made shows in the time alone.
#pragma once

#include <cstdint>

#include "common/registry.hpp"

namespace rung {

/// Arrays are whole multiples of this.
constexpr std::int64_t kCopyGranule = 256;

inline double copy_bytes(const Params& p) { return 2.0 * p.at("bytes") * p.get("passes", 1); }

}  // namespace rung
