/// Tensor maps: the descriptions of matrices that TMA needs from the host. In the emulator they are plain
/// records. Files that the host's compiler translates for a real GPU define RUNG_HOST_CODE.
#pragma once

#include <cstdint>

#include "common/registry.hpp"
#if !defined(__CUDACC__) && !defined(RUNG_HOST_CODE)
#include "gpu/simt/simt.hpp"  // defines RUNG_EMULATION
#endif
#ifdef RUNG_EMULATION
#include "common/emulator/async.hpp"
#else
#include <cuda.h>
#endif

namespace rung::hopper {

/// How TMA permutes the chunks of 16 bytes of a box in shared memory: in patterns of 8 rows with this number of bytes.
enum class Swizzle { none, of_32_bytes, of_64_bytes, of_128_bytes };

/// A row-major matrix that TMA loads or stores in boxes. Beyond its edges zeros are loaded, and nothing is stored.
struct BoxedMatrix {
  const void* at = nullptr;  ///< aligned to 16 bytes
  Type type = Type::fp32;    ///< or tf32, int32, of 16 or of 8 bits
  int cols = 0, rows = 0;
  std::int64_t pitch = 0;  ///< elements from one row to the next: a multiple of 16 bytes
  int box_cols = 0, box_rows = 0;
  Swizzle swizzle = Swizzle::none;
  bool operator==(const BoxedMatrix&) const = default;
};

#ifdef RUNG_EMULATION

inline namespace RUNG_EMULATION {

struct CUtensorMap : TiledMatrix {};

/// The tensor map of a matrix. Throws Error if the driver would reject it.
inline CUtensorMap tensor_map(const BoxedMatrix& of) {
  const auto bytes = static_cast<std::int64_t>(type_bytes(of.type));
  const int box_row_bytes = of.box_cols * static_cast<int>(bytes);
  constexpr int kPatterns[] = {1 << 20, 32, 64, 128};  // the longest row of a box
  constexpr std::uint32_t kSwizzles[] = {0, 1, 3, 7};
  const auto swizzle = static_cast<std::size_t>(of.swizzle);
  if (reinterpret_cast<std::uintptr_t>(of.at) % 16 != 0 || of.pitch * bytes % 16 != 0 || of.cols < 1 || of.rows < 1 ||
      of.box_cols < 1 || of.box_cols > 256 || of.box_rows < 1 || of.box_rows > 256 || box_row_bytes % 16 != 0 ||
      box_row_bytes > kPatterns[swizzle])
    throw Error("TMA takes no matrix of " + std::to_string(of.rows) + " x " + std::to_string(of.cols) +
                " elements with row pitch " + std::to_string(of.pitch) + " in boxes of " + std::to_string(of.box_rows) +
                " x " + std::to_string(of.box_cols));
  return {{.at = static_cast<std::byte*>(const_cast<void*>(of.at)),
           .pitch = of.pitch * bytes,
           .row_bytes = of.cols * bytes,
           .rows = of.rows,
           .element_bytes = static_cast<int>(bytes),
           .box_row_bytes = box_row_bytes,
           .box_rows = of.box_rows,
           .swizzle = kSwizzles[swizzle]}};
}

}  // namespace RUNG_EMULATION

#else

/// The tensor map of a matrix. The most recent ones are cached. Throws Error if the driver rejects it.
CUtensorMap tensor_map(const BoxedMatrix& of);

#endif

}  // namespace rung::hopper
