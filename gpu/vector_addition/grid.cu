/// One thread per element, in as many blocks as needed. The last block has more threads than elements: hence the bounds
/// check. Every multiprocessor works now. What is left to gain: a thread requests 8 bytes and ends, so that small
/// blocks end faster than the hardware starts new ones, and too few bytes are in flight to cover memory's latency.
#include "gpu/simt/simt.hpp"

namespace rung {
namespace {

__global__ void add_grid(const mem<float>* a, const mem<float>* b, mem<float>* c, std::int64_t n) {
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;  // 64 bits: n may be beyond 2^31
  if (i < n) c[i] = a[i] + b[i];
}

const bool added = add_gpu_kernel({
    .name = "gpu/vector_addition/grid",
    .order = 20,
    .title = "a thread an element",
    .idea = "As many blocks as the elements need, one element for each thread, with a check for the last block.",
    .source = {{"blakely"}, {"imam2022"}},
    .tunables = {{"threads", {256, 128, 250, 512, 1000, 1024}}},
    .gpu = {
        .launch =
            [](const Params& p) {
              const std::int64_t threads = p.at("threads");
              return Launch{{blocks_for(p.at("n"), threads)}, {static_cast<unsigned>(threads)}};
            },
        .requested = [](const Params& p) { return Traffic{.loaded = 8.0 * p.at("n"), .stored = 4.0 * p.at("n")}; },
    },
    .run =
        [](const Call& call) {
          launch(call, add_grid, call.operand<const mem<float>>(0), call.operand<const mem<float>>(1),
                 call.operand<mem<float>>(2), call.params.at("n"));
        },
});

}  // namespace
}  // namespace rung
