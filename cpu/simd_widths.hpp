/// The widths of SIMD registers for which the micro-kernel is compiled, which the tunable "simd" offers and the FMA
/// ceilings measure. To add one, add a row here, and its fused multiply-add to ceilings/fma.cpp.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace rung {

/// A register tile of the micro-kernel. With r rows and v vectors it needs r v registers for its sums, and in each step
/// v for B and one for A.
struct TileShape {
  int rows = 0, vectors = 0;
};

struct SimdWidth {
  int bits;
  std::string_view name;  ///< of the instruction set, as in cpu_info().simd
  std::string_view
      target;  ///< Google Highway's namespace; its other targets of this width do not help a matrix product
  int registers;
  TileShape tile;
  TileShape wide_tile = {};  ///< for B in the L1 cache; none if there are too few registers

  constexpr int lanes() const { return bits / 32; }  ///< float32 elements
};

/// The widest first.
inline constexpr SimdWidth kSimdWidths[] = {
    {.bits = 512, .name = "AVX-512", .target = "N_AVX3", .registers = 32, .tile = {14, 2}, .wide_tile = {6, 4}},
    {.bits = 256, .name = "AVX2", .target = "N_AVX2", .registers = 16, .tile = {6, 2}},
    {.bits = 128, .name = "SSE2", .target = "N_SSE4", .registers = 16, .tile = {6, 2}},
    {.bits = 128, .name = "NEON", .target = "N_NEON", .registers = 32, .tile = {8, 3}},
};

/// The widths of all CPUs, the widest first.
inline std::vector<std::int64_t> simd_bits() {
  std::vector<std::int64_t> all;
  for (const SimdWidth& width : kSimdWidths)
    if (all.empty() || all.back() != width.bits) all.push_back(width.bits);
  return all;
}

/// The row of a target of Google Highway; -1 if there is none.
constexpr int simd_row_of(std::string_view target) {
  int row = 0;
  for (const SimdWidth& width : kSimdWidths) {
    if (width.target == target) return row;
    ++row;
  }
  return -1;
}

/// The row of an instruction set; AVX2's row if it has none, like AVX.
constexpr const SimdWidth& simd_width_of(std::string_view name) {
  for (const SimdWidth& width : kSimdWidths)
    if (width.name == name) return width;
  return kSimdWidths[simd_row_of("N_AVX2")];
}

}  // namespace rung
