/// How the two kernels load: as usual, or bypassing L1 (__ldcg), so that loads that L1 would serve reach L2.
#pragma once

#include "common/problem/matmul.hpp"
#include "gpu/simt/simt.hpp"

namespace rung {
namespace {

/// For .tunables: the values of kPastL1.
inline Tunable load_ways() { return {"loads", words({"usual", "past_l1"})}; }

/// Calls use(std::bool_constant) with whether the loads bypass L1.
template <typename Use>
void pick_loads(const Call& call, const Use& use) {
  call.params.at("loads") == 0 ? use(std::false_type{}) : use(std::true_type{});
}

template <bool kPastL1>
__device__ __forceinline__ reg<float> load(const mem<float>* element) {
  if constexpr (kPastL1)
    return __ldcg(element);
  else
    return *element;
}

/// The rows of the three matrices, in elements from one to the next.
struct Rows {
  int a, b, c;
};

inline Rows rows_of(const Params& p) {
  const Matmul<float> it = matmul_sizes(p);
  return {static_cast<int>(it.lda), static_cast<int>(it.ldb), static_cast<int>(it.ldc)};
}

}  // namespace
}  // namespace rung
