/// The workspace of the rungs for compute capability 9.0, which persists between calls.
#pragma once

#include <cstddef>

namespace rung::hopper {

/// GPU memory that grows to the needs of the largest call and is kept until the program ends, so that timed calls do
/// not allocate. All calls share it, so they must be on one stream.
struct Workspace {
  float* a = nullptr;         ///< A transposed, or with rows of whole quads
  float* b = nullptr;         ///< B with rows of whole quads
  float* partials = nullptr;  ///< partial sums: a tile for each block, or a plane for each part of k
  unsigned* flags = nullptr;  ///< one for each block; equal to the epoch once the block's partial tile is written
  unsigned epoch = 0;         ///< of the latest launch
};

/// The workspace, with room for at least these numbers of elements. Throws Error if there is not enough memory.
Workspace& workspace(std::size_t a, std::size_t b, std::size_t partials, std::size_t flags);

}  // namespace rung::hopper
