/// "slices": an array read once by a number of workers that each add up a part. Work grows with the workers, so the
/// rate shows how many of them saturate the bandwidth of memory.
///
/// Sizes     blocks, block (common/problem/workers.hpp); loads: elements of 16 bytes that each worker reads, 256 if not
///           given.
/// Operand 0 `data`, input: 4 x blocks x block x loads uint32, random bits. Load i of worker t of block b is the
///           16 bytes with the index (b x loads + i) x block + t: neighbours read contiguous data.
/// Operand 1 `sums`, output: one uint32 per worker: the sum of all words that it has read, modulo 2^32.
/// Compulsory bytes: the array once, the sums once.
#pragma once

#include "common/problem/workers.hpp"

namespace rung {

inline double slice_bytes(const Params& p) { return 16.0 * workers(p) * p.at("loads"); }

}  // namespace rung
