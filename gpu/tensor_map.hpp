/// Tensor maps: the descriptions of matrices that TMA needs from the host.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "common/registry.hpp"

namespace rung::hopper {

/// A row-major matrix that TMA loads in boxes, with zeros beyond its edges.
struct BoxedMatrix {
  const void* at = nullptr;  ///< aligned to 16 bytes
  Type type = Type::fp32;    ///< or tf32, of 16 or of 8 bits
  int cols = 0, rows = 0;
  std::int64_t pitch = 0;  ///< elements from one row to the next: a multiple of 16 bytes
  int box_cols = 0, box_rows = 0;
  CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_NONE;
  bool operator==(const BoxedMatrix&) const = default;
};

/// The tensor map of a matrix. The most recent ones are cached. Throws Error if the driver rejects it.
CUtensorMap tensor_map(const BoxedMatrix& of);

}  // namespace rung::hopper
