/// What the kernels with TMA need from the host: tensor maps, and memory that stays between calls.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>

namespace rung::hopper {

/// A row-major float32 matrix of which TMA brings boxes, with zeros beyond its edges.
struct BoxedMatrix {
  const float* at = nullptr;  ///< a multiple of 16 bytes
  int cols = 0, rows = 0;
  std::int64_t pitch = 0;  ///< elements from one row to the next, a multiple of 4
  int box_cols = 0, box_rows = 0;
  CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_NONE;
  bool operator==(const BoxedMatrix&) const = default;
};

/// Describes a matrix to TMA. The latest few are remembered. Throws Error if the driver does not take it.
CUtensorMap tensor_map(const BoxedMatrix& of);

/// GPU memory that grows with the largest call, allocated outside the hot path and freed when the program ends. All
/// calls share it, so they must be on one stream.
struct Workspace {
  float* a = nullptr;         ///< A transposed, or with rows of whole quads
  float* b = nullptr;         ///< B with rows of whole quads
  float* partials = nullptr;  ///< partial sums: a tile a block, or a plane a part
  unsigned* flags = nullptr;  ///< one a block; equal to the epoch when the block's partial tile is written
  unsigned epoch = 0;         ///< of the latest launch
};

/// The workspace with room for so many elements. Throws Error where memory is short.
Workspace& workspace(std::size_t a, std::size_t b, std::size_t partials, std::size_t flags);

}  // namespace rung::hopper
