/// The read bandwidth of one level of memory: every thread sums its own contiguous part, again and again, with loads as
/// wide as the CPU has. One loop, registered once for each level: only the size of the array differs.
/// Several sums side by side, so that no addition waits for the one before.
/// Source: Empirical Roofline Toolkit; likwid-bench, "load".
#include "common/problem/read.hpp"

#include <algorithm>

#include "cpu/ceilings/vector.hpp"
#include "cpu/ceilings/working_set.hpp"

namespace rung {
namespace {

constexpr int kSums = kReadGranule / kVectorBytes;

/// The sum of `granules` x 64 elements, `passes` times.
std::uint32_t sum_part(const WordVector* part, std::int64_t granules, std::int64_t passes) {
  WordVector sums[kSums] = {};
  for (std::int64_t pass = 0; pass < passes; ++pass) {
    for (std::int64_t i = 0; i < granules; ++i)
#pragma GCC unroll 16
      for (int s = 0; s < kSums; ++s) sums[s] += part[i * kSums + s];
    asm volatile("" ::: "memory");  // the next pass must load again
  }
  WordVector all = {};
#pragma GCC unroll 16
  for (int s = 0; s < kSums; ++s) all += sums[s];
  std::uint32_t total = 0;
  for (int lane = 0; lane < kVectorBytes / 4; ++lane) total += all[lane];
  return total;
}

void read_all(const Call& call) {
  const auto* data = call.operand<const WordVector>(0);
  auto* partials = call.operand<std::uint32_t>(1);
  const std::int64_t passes = call.params.at("passes");
  std::fill_n(partials, kReadPartials, 0u);
  share_out(call.params.at("bytes") / kReadGranule, std::min(omp_get_max_threads(), kReadPartials),
            [=](std::int64_t thread, std::int64_t begin, std::int64_t end) {
              partials[thread] = sum_part(data + begin * kSums, end - begin, passes);
            });
}

bool add_level(Level level, int order, const std::string& variant, const std::string& label, const std::string& size) {
  return add_kernel({
      .name = "cpu/read/" + variant,
      .order = order,
      .title = label + " read",
      .idea = "Every thread sums its part of an array " + size + ": the read bandwidth of " + label + ".",
      .source = {{"ert2014"}},
      .type = Type::uint32,
      .ceiling = Ceiling{.label = label, .is_bandwidth = true},
      .refuse = [level](const Params&) { return refuse_level(level); },
      .sizes = [level] { return level_sizes(level, 1, kReadGranule); },
      .run = read_all,
  });
}

const bool added = add_level(Level::l1, 10, "l1", "L1", "of half the L1 data caches") &&
                   add_level(Level::l2, 20, "l2", "L2", "of half the L2 caches") &&
                   add_level(Level::l3, 30, "l3", "L3", "larger than the L2 caches, within the L3") &&
                   add_level(Level::dram, 40, "dram", "DRAM", "four times the size of all caches");

}  // namespace
}  // namespace rung
