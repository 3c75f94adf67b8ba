/// The read bandwidth of one level of memory: every thread sums its own contiguous part, again and again, with loads as
/// wide as the CPU has. One loop, registered once for each level: only the size of the array differs.
/// Several sums side by side, so that no addition waits for the one before.
/// Source: Empirical Roofline Toolkit; likwid-bench, "load".
#include "common/problem/read.hpp"

#include <omp.h>

#include <algorithm>

#include "cpu/ceilings/working_set.hpp"

namespace rung {
namespace {

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

// The CPU's widest register and no wider: g++ keeps a vector that it must split on the stack.
using Vector __attribute__((vector_size(kVectorBytes), may_alias)) = std::uint32_t;
constexpr int kSums = kReadGranule / kVectorBytes;

/// The sum of `granules` x 64 elements, `passes` times.
std::uint32_t sum_part(const Vector* part, std::int64_t granules, std::int64_t passes) {
  Vector sums[kSums] = {};
  for (std::int64_t pass = 0; pass < passes; ++pass) {
    for (std::int64_t i = 0; i < granules; ++i)
#pragma GCC unroll 16
      for (int s = 0; s < kSums; ++s) sums[s] += part[i * kSums + s];
    asm volatile("" ::: "memory");  // the next pass must load again
  }
  Vector all = {};
#pragma GCC unroll 16
  for (int s = 0; s < kSums; ++s) all += sums[s];
  std::uint32_t total = 0;
  for (int lane = 0; lane < kVectorBytes / 4; ++lane) total += all[lane];
  return total;
}

void read_all(const Call& call) {
  const auto* data = call.operand<const Vector>(0);
  auto* partials = call.operand<std::uint32_t>(1);
  const std::int64_t granules = call.params.at("bytes") / kReadGranule, passes = call.params.at("passes");
  const int threads = std::min(omp_get_max_threads(), kReadPartials);
  std::fill_n(partials, kReadPartials, 0u);
#pragma omp parallel num_threads(threads)
  {
    const std::int64_t thread = omp_get_thread_num(), team = omp_get_num_threads();
    const std::int64_t begin = granules * thread / team, end = granules * (thread + 1) / team;
    partials[thread] = sum_part(data + begin * kSums, end - begin, passes);
  }
}

/// 128 MiB for each thread and call: a millisecond or more, beside which the start of the threads does not show.
Params sizes(Level level) {
  const std::int64_t bytes = granular_working_set(level, kReadGranule);
  return {{"bytes", bytes}, {"passes", std::max(cpu_threads() * 128 * kMiB / bytes, std::int64_t{1})}};
}

bool add_level(Level level, int order, const std::string& variant, const std::string& label, const std::string& size) {
  return add_kernel({
      .name = "cpu/read/" + variant,
      .order = order,
      .title = label + " read",
      .idea = "Every thread sums its part of an array " + size + ": the read bandwidth of " + label + ".",
      .source = "Empirical Roofline Toolkit; likwid-bench load",
      .precision = "uint32",
      .ceiling = Ceiling{.label = label, .is_bandwidth = true},
      .refuse = [level](const Params&) { return refuse_level(level); },
      .sizes = [level] { return sizes(level); },
      .run = read_all,
  });
}

const bool added = add_level(Level::l1, 10, "l1", "L1", "of half the L1 data caches") &&
                   add_level(Level::l2, 20, "l2", "L2", "of half the L2 caches") &&
                   add_level(Level::l3, 30, "l3", "L3", "larger than the L2 caches, within the L3") &&
                   add_level(Level::dram, 40, "dram", "DRAM", "four times the size of all caches");

}  // namespace
}  // namespace rung
