/// "read": sums an array that is read `passes` times, to measure how fast a level of memory delivers.
///
/// Sizes     bytes: of the array, a multiple of 256 (so 16- and 64-byte loads need no tail); passes: 1 if not given.
/// Operand 0 `data`, input: bytes / 4 elements of uint32, random bits, no zeros.
/// Operand 1 `partials`, output: kReadPartials elements of uint32.
/// Formula   sum of all partials = passes x sum of all data, modulo 2^32.
///
/// Every pass reads every element once. Which thread reads what, in which order, and into which partial it adds is the
/// kernel's choice; threads need not wait for each other between passes. Every partial is written: unused ones become 0
/// (outputs are poisoned before a call). A CPU thread or a GPU block gives one each.
///
/// Why unsigned integers: their sum is exact in any order at any size, so one element skipped in one of a million
/// passes shows; in a float32 sum of 10^9 elements it would not. The additions are neither counted nor a limit.
/// A compiler may not keep a value from one pass to the next: put `asm volatile("" ::: "memory")` between passes.
#pragma once

#include <cstdint>

#include "common/registry.hpp"

namespace rung {

/// Room for one partial sum per CPU thread or GPU block; 16 KiB, so that writing them all costs nothing that shows.
constexpr int kReadPartials = 4096;

/// Arrays are whole multiples of this.
constexpr std::int64_t kReadGranule = 256;

/// The bytes that a call must fetch from the level measured; the partials are left out.
inline double read_bytes(const Params& p) { return 1.0 * p.at("bytes") * p.at("passes"); }

}  // namespace rung
