/// "transfer": copies between the memory of the GPU and the memory of its host.
///
/// Sizes     direction: to_gpu, from_gpu, or both at once; n: elements in each direction, up to 2^32.
/// Operand 0 `from`, input; operand 1 `to`, output: n elements of float32. For one direction, the GPU's array is in
///           its memory and the other one on the host.
/// Operand 2 `back_from`, input; operand 3 `back_to`, output: n elements, from the GPU to the host. For `both`
///           only, where operands 0 and 1 go to the GPU.
/// Formula   to[i] = from[i], bit for bit. Bytes: each element is counted once, as a link carries it.
#pragma once

#include "common/registry.hpp"

namespace rung {

/// In the order of the words that the size may be.
enum class Direction { to_gpu, from_gpu, both };

inline Direction direction_of(const Params& p) { return static_cast<Direction>(p.at("direction")); }

/// Pairs of arrays that are copied.
inline int transfer_pairs(const Params& p) { return direction_of(p) == Direction::both ? 2 : 1; }

inline double transfer_bytes(const Params& p) { return 4.0 * static_cast<double>(p.at("n")) * transfer_pairs(p); }

}  // namespace rung
