/// The product that the tensor cores of a warpgroup compute from tiles in shared memory, for one warp of it.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "common/emulator/async.hpp"

namespace rung {

/// The shared memory of a block, as the units see it.
struct SharedWindow {
  const std::byte* memory = nullptr;  ///< what is at address `begin`
  SharedAddress begin = 0;
  std::size_t bytes = 0;
  /// Throws Error if an access there leaves the memory.
  const std::byte* at(SharedAddress address, std::size_t size) const {
    if (address < begin || address - begin + size > bytes)
      throw Error("leaves dynamic shared memory, at byte " +
                  std::to_string(static_cast<std::int32_t>(address - begin)) + " of " + std::to_string(bytes));
    return memory + (address - begin);
  }
};

/// Where byte `byte` of the 32 bytes of k of a row of A, or of B stored by rows of k, is in shared memory. Source:
/// NVIDIA PTX ISA, matrix descriptors and swizzling modes.
SharedAddress place_in_rows_of_k(std::uint64_t descriptor, int row, int byte);
/// The same of B's element (k, n) of 16 bits, stored by rows of n with a swizzle of 128 bytes, or of A's (m, k), of m.
SharedAddress place_in_rows_of_n(std::uint64_t descriptor, int k, int n);
/// Calls visit(address) for each piece of shared memory, of kPieceBytes, that a warp reads for a product.
constexpr std::size_t kPieceBytes = 16;
template <typename Visit>
void each_piece(const TileProduct& product, int warp, Visit visit) {
  if (product.a_by_rows) {
    for (int k = 0; k < 16; ++k)
      for (int row = 16 * warp; row < 16 * (warp + 1); row += 8) visit(place_in_rows_of_n(product.a, k, row));
  } else {
    for (int row = 16 * warp; row < 16 * (warp + 1); ++row)
      for (int byte = 0; byte < 32; byte += 16) visit(place_in_rows_of_k(product.a, row, byte));
  }
  if (product.b_by_rows) {
    for (int k = 0; k < 16; ++k)
      for (int n = 0; n < product.cols; n += 8) visit(place_in_rows_of_n(product.b, k, n));
  } else {
    for (int n = 0; n < product.cols; ++n)
      for (int byte = 0; byte < 32; byte += 16) visit(place_in_rows_of_k(product.b, n, byte));
  }
}
/// Whether the functions above support this layout of shared memory.
bool is_known_layout(const TileProduct& product);

/// Adds the products of a warp, the `warp`-th of its warpgroup: rows 16 warp to 16 warp + 15. `sums`: of its 32 lanes.
/// Exact products are added to the sum without rounding, and the result is truncated
/// to float32, as in gpu/simt/mma.hpp: tensor cores drop a few bits while they align the products, of FP8 all but about
/// 14.
void multiply_tiles(const TileProduct& product, int warp, std::span<void* const, 32> sums, const SharedWindow& window);

}  // namespace rung
