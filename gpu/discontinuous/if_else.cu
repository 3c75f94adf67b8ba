/// The function as the course writes it. A warp whose elements are all negative skips the sine; if a single element is
/// not negative, the warp executes it. Floor: 12 bytes per element, which for one pass take longer than either branch.
#include "gpu/discontinuous/passes.hpp"

namespace rung {
namespace {

struct IfElse {
  static __device__ __forceinline__ reg<float> of(const reg<float>& a, const reg<float>& b) {
    if (a < 0) {
      count_way();
      return 2 * a;
    }
    count_way();
    return sinf(a) + b;
  }
};

const bool added = add_discontinuous<IfElse>({
    .name = "gpu/discontinuous/if_else",
    .order = 10,
    .title = "if and else",
    .idea = "The function as it is written: a warp executes the branches that its elements take.",
    .source = {{"blakely", "discontinuous function"}},
});

}  // namespace
}  // namespace rung
