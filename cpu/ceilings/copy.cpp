/// The copy bandwidth of one level of memory: every thread copies its own contiguous part. One loop, registered once
/// for each level. For DRAM there are two: an ordinary store first fetches the line that it overwrites, a third
/// transfer that the formula, like STREAM's, does not count; a streaming store bypasses the caches and does not fetch.
/// Source: STREAM copy; likwid-bench, "copy" and "copy_mem".
#include "common/problem/copy.hpp"

#include "cpu/ceilings/vector.hpp"
#include "cpu/ceilings/working_set.hpp"

namespace rung {
namespace {

constexpr int kVectors = kCopyGranule / kVectorBytes;

template <Store kStore>
void copy_part(const FloatVector* from, FloatVector* to, std::int64_t granules, std::int64_t passes) {
  for (std::int64_t pass = 0; pass < passes; ++pass) {
    for (std::int64_t i = 0; i < granules; ++i)
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) store<kStore>(to + i * kVectors + v, from[i * kVectors + v]);
    asm volatile("" ::: "memory");  // the next pass must copy again
  }
  finish_stores<kStore>();
}

template <Store kStore>
void copy_all(const Call& call) {
  const auto* from = call.operand<const FloatVector>(0);
  auto* to = call.operand<FloatVector>(1);
  const std::int64_t passes = call.params.at("passes");
  share_out(call.params.at("bytes") / kCopyGranule, omp_get_max_threads(),
            [=](std::int64_t, std::int64_t begin, std::int64_t end) {
              copy_part<kStore>(from + begin * kVectors, to + begin * kVectors, end - begin, passes);
            });
}

template <Store kStore = Store::ordinary>
bool add_level(Level level, int order, const std::string& variant, const std::string& label, const std::string& how) {
  return add_kernel({
      .name = "cpu/copy/" + variant,
      .order = order,
      .title = label,
      .idea = "Every thread copies its part of an array to another, " + how + ".",
      .source = {{"mccalpin1995", "copy"}},
      .is_general = true,
      .ceiling = Ceiling{.label = label, .is_bandwidth = true},
      .refuse = [level](const Params&) { return refuse_level(level); },
      .sizes = [level] { return level_sizes(level, 2, kCopyGranule); },
      .run = copy_all<kStore>,
  });
}

const bool added = add_level(Level::l1, 10, "l1", "L1 copy", "both in half the L1 data caches") &&
                   add_level(Level::l2, 20, "l2", "L2 copy", "both in half the L2 caches") &&
                   add_level(Level::l3, 30, "l3", "L3 copy", "together larger than the L2 caches, within the L3") &&
                   add_level(Level::dram, 40, "dram", "DRAM copy", "each four times the size of all caches");

const bool added_streaming =
    kHasStreamingStores && add_level<Store::streaming>(Level::dram, 50, "dram_streaming", "DRAM copy, streaming",
                                                       "each four times the size of all caches, with stores past them");

}  // namespace
}  // namespace rung
