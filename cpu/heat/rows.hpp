/// Shared by the CPU's kernels of the heat equation: vectors at any address, a step of a few rows at a time, and the
/// choice of how results are stored.
#pragma once

#include <type_traits>
#include <vector>

#include "common/machine/cpu_info.hpp"
#include "common/problem/heat.hpp"
#include "cpu/ceilings/vector.hpp"

namespace rung {

constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(float));

using AnyFloatVector __attribute__((vector_size(kVectorBytes), may_alias, aligned(alignof(float)))) = float;

inline FloatVector load(const float* from) { return *reinterpret_cast<const AnyFloatVector*>(from); }

/// Streaming stores need an aligned address.
template <Store kStore>
inline void store(float* to, FloatVector value) {
  if constexpr (kStore == Store::ordinary)
    *reinterpret_cast<AnyFloatVector*>(to) = value;
  else
    store<kStore>(reinterpret_cast<FloatVector*>(to), value);
}

/// Steps kRows rows, the inner ones of `in`, from column `begin` to `end` by whole vectors; returns the first remaining
/// column. Each row is loaded once for three results, and several rows are several streams from memory, which have more
/// requests in flight than one stream.
template <Store kStore, int kRows>
int step_rows(const float* const (&in)[kRows + 2], float* const (&out)[kRows], int begin, int end, float centre,
              float side) {
  int col = begin;
  for (; col + kLanes <= end; col += kLanes) {
    FloatVector cells[kRows + 2];
#pragma GCC unroll 16
    for (int r = 0; r < kRows + 2; ++r) cells[r] = load(in[r] + col);
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r)
      store<kStore>(out[r] + col,
                    centre * cells[r + 1] +
                        side * ((cells[r] + cells[r + 2]) + (load(in[r + 1] + col - 1) + load(in[r + 1] + col + 1))));
  }
  return col;
}

/// For .scratch of a kernel that makes one step per pass: its last row is zeros, for the cells beyond the edge.
inline std::vector<Operand> scratch_with_zeros(const Params& p) {
  std::vector<Operand> scratch = heat_scratch(p, heat_steps(p));
  scratch.push_back({.name = "row of zeros",
                     .elements = static_cast<std::size_t>(heat_grid(p).cols),
                     .role = Role::scratch,
                     .is_zeroed = true});
  return scratch;
}
inline const float* row_of_zeros(const Call& call) { return static_cast<const float*>(call.operands.back()); }

/// Calls use() with the kind of store for the field: streaming where the caches cannot hold both arrays and rows are
/// whole vectors.
template <typename Use>
void with_store(const Params& p, const Use& use) {
  const bool is_cached = 8 * heat_cells(p) < static_cast<double>(cpu_info().all_l3_bytes);
  if (is_cached || p.at("n") % kLanes != 0 || !kHasStreamingStores)
    use(std::integral_constant<Store, Store::ordinary>{});
  else
    use(std::integral_constant<Store, Store::streaming>{});
}

}  // namespace rung
