/// What the CPU's kernels of the heat equation share: vectors at any address, and the choice of how results are stored.
#pragma once

#include <cstdint>
#include <type_traits>

#include "common/machine/cpu_info.hpp"
#include "common/problem/heat.hpp"
#include "cpu/ceilings/vector.hpp"

namespace rung {

constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(float));

using AnyFloatVector __attribute__((vector_size(kVectorBytes), may_alias, aligned(alignof(float)))) = float;

inline FloatVector load(const float* from) { return *reinterpret_cast<const AnyFloatVector*>(from); }

template <Store kStore>
inline void store(float* to, FloatVector value) {
  store<kStore>(reinterpret_cast<FloatVector*>(to), value);
}

inline bool is_aligned(const float* at) { return reinterpret_cast<std::uintptr_t>(at) % kVectorBytes == 0; }

/// Calls use() with the way to store that suits the field: past the caches if they cannot hold both arrays anyway.
template <typename Use>
void with_store(const Params& p, const Use& use) {
  const bool is_held = 8 * heat_cells(p) < static_cast<double>(cpu_info().all_l3_bytes);
  if (is_held || !kHasStreamingStores)
    use(std::integral_constant<Store, Store::ordinary>{});
  else
    use(std::integral_constant<Store, Store::streaming>{});
}

}  // namespace rung
