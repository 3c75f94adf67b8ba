/// Every thread follows the cycle with its share of the walkers, up to 32 interleaved: a core looks far enough ahead to
/// have the loads of all walkers in flight, until its L1 has no line-fill buffer left. One walker measures the latency
/// of the cache that holds the array, or of memory. Floor: steps x latency, until the buffers or the level's bandwidth
/// are the limit.
#include <omp.h>

#include <algorithm>
#include <cstdint>

#include "common/registry.hpp"

namespace rung {
namespace {

constexpr std::int64_t kMostAtOnce = 32;

/// Walkers with interleaved steps.
template <int Together>
void walk(const std::uint32_t* next, std::uint32_t* at, std::uint32_t* sums, std::int64_t steps) {
  std::uint32_t here[Together], sum[Together] = {};
  std::copy_n(at, Together, here);
  for (std::int64_t step = 0; step < steps; ++step) {
#pragma GCC unroll 32
    for (int j = 0; j < Together; ++j) {
      here[j] = next[here[j]];
      asm("" : "+r"(here[j]));  // separate loads, no gather instruction
      sum[j] += here[j];
    }
  }
  std::copy_n(here, Together, at);
  std::copy_n(sum, Together, sums);
}

/// A thread's share, in groups of the largest powers of two.
template <std::int64_t Together = kMostAtOnce>
void walk_all(const std::uint32_t* next, std::uint32_t* at, std::uint32_t* sums, std::int64_t walkers,
              std::int64_t steps) {
  for (; walkers >= Together; walkers -= Together, at += Together, sums += Together)
    walk<Together>(next, at, sums, steps);
  if constexpr (Together > 1) walk_all<Together / 2>(next, at, sums, walkers, steps);
}

void run(const Call& call) {
  const auto* next = call.operand<const std::uint32_t>(0);
  auto *at = call.operand<std::uint32_t>(1), *sums = call.operand<std::uint32_t>(2);
  const std::int64_t walkers = call.params.at("walkers"), steps = call.params.at("steps");
#pragma omp parallel
  {
    const std::int64_t thread = omp_get_thread_num(), team = omp_get_num_threads();
    const std::int64_t begin = walkers * thread / team, end = walkers * (thread + 1) / team;
    walk_all(next, at + begin, sums + begin, end - begin, steps);
  }
}

const bool added = add_kernel({
    .name = "cpu/chase/threads",
    .order = 10,
    .title = "memory",
    .idea = "Each thread walks along a cycle of pointers, with several interleaved walkers.",
    .source = {{"drepper2007", "section 3.3.2"}, {"little1961"}},
    .type = Type::uint32,
    .run = run,
});

}  // namespace
}  // namespace rung
