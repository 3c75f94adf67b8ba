/// "chains": multiply-adds by a number of workers, each with a number of independent chains. Work grows with the
/// workers, so the rate shows what more of them are worth. The arithmetic, its operands and its oracle are as in "fma"
/// (common/problem/fma.hpp).
///
/// Sizes     blocks, block (common/problem/workers.hpp); each: chains of a worker, up to 64; iterations:
///           multiply-adds of each chain, a multiple of 16, 16384 if not given.
/// Operands  x, coefficients, y as in "fma", one number per chain. Chain j of worker t of block b has the index
///           (b x each + j) x block + t: the workers of a block are contiguous.
/// Useful operations: 2 x blocks x block x each x iterations.
#pragma once

#include "common/problem/fma.hpp"
#include "common/problem/workers.hpp"

namespace rung {

inline std::int64_t chains_in(const Params& p) { return workers(p) * p.at("each"); }

}  // namespace rung
