/// All by one block, whose threads go over the arrays side by side. A block runs on one multiprocessor, and its threads
/// can have at most 1024 elements of each array in flight at a time: the rest of the GPU is idle. Expect the rate of
/// one multiprocessor, however many elements there are.
#include "gpu/simt/simt.hpp"

namespace rung {
namespace {

constexpr int kThreads = 1024;  // the most that a block may have

__global__ void add_one_block(const mem<float>* a, const mem<float>* b, mem<float>* c, std::int64_t n) {
  for (std::int64_t i = threadIdx.x; i < n; i += kThreads) c[i] = a[i] + b[i];
}

const bool added = add_gpu_kernel({
    .name = "gpu/vector_addition/one_block",
    .order = 10,
    .title = "one block",
    .idea = "The threads of a single block add everything, so one multiprocessor works and the others wait.",
    .source = {{"blakely"}, {"imam2022"}},
    .gpu = {
        .launch =
            [](const Params&) {
              return Launch{{1}, {kThreads}};
            },
        .requested = [](const Params& p) { return Traffic{.loaded = 8.0 * p.at("n"), .stored = 4.0 * p.at("n")}; },
    },
    .run =
        [](const Call& call) {
          launch(call, add_one_block, call.operand<const mem<float>>(0), call.operand<const mem<float>>(1),
                 call.operand<mem<float>>(2), call.params.at("n"));
        },
});

}  // namespace
}  // namespace rung
