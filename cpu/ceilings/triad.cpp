/// The bandwidth of one level of memory for two reads to one write: a = b + s c, every thread on its own contiguous
/// part. One loop, registered once for each level. For DRAM there are two: an ordinary store first fetches the line
/// that it overwrites, a fourth transfer that STREAM does not count; a streaming store does not fetch.
/// Source: STREAM triad; likwid-bench, "stream" and "stream_mem_avx".
#include "common/problem/triad.hpp"

#include "cpu/ceilings/vector.hpp"
#include "cpu/ceilings/working_set.hpp"

namespace rung {
namespace {

constexpr int kVectors = kTriadGranule / kVectorBytes;

template <Store kStore>
void triad_part(const FloatVector* b, const FloatVector* c, FloatVector* a, std::int64_t granules,
                std::int64_t passes) {
  for (std::int64_t pass = 0; pass < passes; ++pass) {
    for (std::int64_t i = 0; i < granules; ++i)
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v)
        store<kStore>(a + i * kVectors + v, b[i * kVectors + v] + kTriadFactor * c[i * kVectors + v]);
    asm volatile("" ::: "memory");  // the next pass must load and store again
  }
  finish_stores<kStore>();
}

template <Store kStore>
void triad_all(const Call& call) {
  const auto *b = call.operand<const FloatVector>(0), *c = call.operand<const FloatVector>(1);
  auto* a = call.operand<FloatVector>(2);
  const std::int64_t passes = call.params.at("passes");
  share_out(call.params.at("bytes") / kTriadGranule, omp_get_max_threads(),
            [=](std::int64_t, std::int64_t begin, std::int64_t end) {
              const std::int64_t first = begin * kVectors;
              triad_part<kStore>(b + first, c + first, a + first, end - begin, passes);
            });
}

template <Store kStore = Store::ordinary>
bool add_level(Level level, int order, const std::string& variant, const std::string& label, const std::string& how) {
  return add_kernel({
      .name = "cpu/triad/" + variant,
      .order = order,
      .title = label,
      .idea = "Every thread adds its part of one array to a multiple of another, three arrays " + how + ".",
      .source = {{"mccalpin1995", "triad"}},
      .is_general = true,
      .ceiling = Ceiling{.label = label, .is_bandwidth = true},
      .refuse = [level](const Params&) { return refuse_level(level); },
      .sizes = [level] { return level_sizes(level, 3, kTriadGranule); },
      .run = triad_all<kStore>,
  });
}

const bool added = add_level(Level::l1, 10, "l1", "L1 triad", "in half the L1 data caches") &&
                   add_level(Level::l2, 20, "l2", "L2 triad", "in half the L2 caches") &&
                   add_level(Level::l3, 30, "l3", "L3 triad", "larger than the L2 caches, within the L3") &&
                   add_level(Level::dram, 40, "dram", "DRAM triad", "of four times the size of all caches each");

const bool added_streaming =
    kHasStreamingStores && add_level<Store::streaming>(Level::dram, 50, "dram_streaming", "DRAM triad, streaming",
                                                       "of four times the size of all caches, with stores past them");

}  // namespace
}  // namespace rung
