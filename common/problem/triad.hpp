/// "triad": a = b + s c, STREAM's fourth kernel, to measure how fast a level of memory serves two reads to one write.
///
/// Sizes     bytes: of one array, a multiple of 256 (so 16- to 64-byte accesses need no tail); passes: how often it is
///           done in one call, 1 if not given. More than one requires a kernel with is_general.
/// Operand 0 `b`, input: bytes / 4 elements of float32.
/// Operand 1 `c`, input: likewise.
/// Operand 2 `a`, output: likewise.
/// Formula   a[i] = b[i] + kTriadFactor * c[i]. Compulsory bytes: 3 x bytes for each pass, as STREAM counts; what an
///           ordinary store fetches before it overwrites is left out. Useful operations: 2 per element and pass.
///
/// A second pass changes nothing that the oracle could see, so a compiler may leave it out: put
/// `asm volatile("" ::: "memory")` between passes. That every pass is made shows in the time alone.
/// Source: McCalpin, Memory Bandwidth and Machine Balance in Current High Performance Computers (1995).
#pragma once

#include <cstdint>

#include "common/registry.hpp"

namespace rung {

/// Arrays are whole multiples of this.
constexpr std::int64_t kTriadGranule = 256;

constexpr float kTriadFactor = 3;

inline double triad_bytes(const Params& p) { return 3.0 * p.at("bytes") * p.get("passes", 1); }

inline double triad_flops(const Params& p) { return 2.0 * p.at("bytes") / 4 * p.get("passes", 1); }

}  // namespace rung
