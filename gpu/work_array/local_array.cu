/// An array in the thread's own local memory, of the largest length, since the length is fixed when the kernel is
/// compiled. Its index is known only at run time, so it cannot be in registers: it is in global memory, where the
/// hardware makes word j of neighbouring threads contiguous, and is cached.
/// Source: Zhou, CUDA/GPU Programming (2), "Local memory".
#include "gpu/work_array/items.hpp"

namespace rung {
namespace {

__global__ void local_array(const mem<std::uint32_t>* start, mem<std::uint32_t>* sum, int n, int length) {
  std::uint32_t words[kMostWords];
  const int threads = gridDim.x * kWorkThreads;
  for (int i = blockIdx.x * kWorkThreads + threadIdx.x; i < n; i += threads)
    sum[i] = walk_through(static_cast<std::uint32_t*>(words), start[i], length);
}

const bool added = add_gpu_kernel({
    .name = "gpu/work_array/local_array",
    .order = 10,
    .title = "local array",
    .idea = "The array is a variable of the thread, of a length fixed at compile time, in local memory.",
    .source = {{"zhou2015", "Local memory"}},
    .type = Type::uint32,
    .gpu =
        {
            .launch = work_launch,
            .requested = [](const Params& p) { return Traffic{.loaded = 4.0 * p.at("n"), .stored = 4.0 * p.at("n")}; },
        },
    .run =
        [](const Call& call) {
          launch(call, local_array, call.operand<const mem<std::uint32_t>>(0), call.operand<mem<std::uint32_t>>(1),
                 items_of(call), length_of(call));
        },
});

}  // namespace
}  // namespace rung
