/// The class of common/problem/polynomial.hpp, compiled for the GPU: passed to the kernel by value, its method called
/// by every thread. Floor: 8 bytes per element over memory's bandwidth; 12 operations per element are far below the
/// peak.
/// Source: Blakely, Writing and Compiling a CUDA Code, "CUDA extensions to C++": functions for host and device.
#include "common/problem/polynomial.hpp"
#include "gpu/simt/simt.hpp"

namespace rung {
namespace {

constexpr int kThreads = 256;

using Elements = Choices<4, 1, 2>;

template <Rounding kHow, int PerThread>
__global__ void polynomial(OddPolynomial p, const mem<float>* x, mem<float>* y, std::int64_t n) {
  const std::int64_t first = std::int64_t{blockIdx.x} * kThreads * PerThread + threadIdx.x;
  reg<float> at[PerThread] = {};
  for (int j = 0; j < PerThread; ++j)  // all are in flight before the first is used
    if (first + j * kThreads < n) at[j] = x[first + j * kThreads];
  for (int j = 0; j < PerThread; ++j)
    if (first + j * kThreads < n) y[first + j * kThreads] = p.at<kHow>(at[j]);
}

const bool added = add_gpu_kernel({
    .name = "gpu/polynomial/one_definition",
    .order = 10,
    .title = "one definition",
    .idea = "A class whose method is compiled for the CPU and for the GPU, from the same lines.",
    .source = {{"blakely", "CUDA extensions to C++"}, {"zhou2015", "Functional declarations"}},
    .tunables = {{"rounding", words({"contracted", "fused", "separate"})}, {"elements", Elements::values()}},
    .gpu = {.launch =
                [](const Params& p) {
                  return Launch{{blocks_for(p.at("n"), kThreads * p.at("elements"))}, {kThreads}};
                },
            .requested = [](const Params& p) { return Traffic{.loaded = 4.0 * p.at("n"), .stored = 4.0 * p.at("n")}; }},
    .run =
        [](const Call& call) {
          with_rounding(call.params.at("rounding"), [&](auto how) {
            Elements::pick(call.params.at("elements"), [&](auto elements) {
              launch(call, polynomial<how, elements>, kSine, call.operand<const mem<float>>(0),
                     call.operand<mem<float>>(1), call.params.at("n"));
            });
          });
        },
});

}  // namespace
}  // namespace rung
