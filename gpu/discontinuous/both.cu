/// Both branches are evaluated for every element, and one result is kept: the pattern of signs does not matter, and
/// every element costs a sine. Floor: as for the branch.
#include "gpu/discontinuous/passes.hpp"

namespace rung {
namespace {

struct Both {
  static __device__ __forceinline__ reg<float> of(const reg<float>& a, const reg<float>& b) {
    const reg<float> doubled = 2 * a, wave = sinf(a) + b;
    return a < 0 ? doubled : wave;
  }
};

const bool added = add_discontinuous<Both>({
    .name = "gpu/discontinuous/both",
    .order = 20,
    .title = "both, and a choice",
    .idea = "Both branches are evaluated for every element, and one result is kept.",
    .source = {{"cuda-best-practices", "branching and divergence"}},
});

}  // namespace
}  // namespace rung
