/// The two passes in one loop: while a thread scans its piece, which is in its L2, it sums the piece that it will scan
/// two stretches later, as that arrives from memory. So reads and writes are mixed at all times, as in a copy, whereas
/// separate passes only read or only write. And no thread waits at a barrier: the sums of a stretch were published two
/// pieces ago. Floor: 8 bytes per element over the bandwidth of a copy, with stores that bypass the caches.
/// Source: Merrill and Garland, Single-pass Parallel Prefix Scan with Decoupled Look-back, 2016 (sums published ahead
/// of the scan); Yan, Long and Zhang, StreamScan, 2013 (sums passed between running threads).
#include <atomic>
#include <thread>

#include "common/machine/cpu_info.hpp"
#include "cpu/prefix_sum/scan.hpp"

namespace rung {
namespace {

constexpr int kLead = 2;                  // stretches between the sum of a piece and its scan
constexpr std::int64_t kPrefetch = 1024;  // elements, 4 KB: beyond what hardware prefetches within a page

/// An eighth of a core's L2: it holds kLead + 1 pieces, and some written lines.
std::int64_t piece_kib() {
  const auto eighth = static_cast<std::int64_t>(cpu_info().l2_bytes) / 8 / kKiB;
  return eighth >= 256 ? 256 : eighth >= 128 ? 128 : 64;
}

/// The sums that a thread publishes, on a separate line. A thread writes the sum of stretch s + kLead once it has read
/// the sums of stretch s; by then all threads have read the sums of stretch s - kLead. So 2 * kLead sums are enough.
struct alignas(64) Told {
  std::int64_t stretches;  ///< how many are published
  float sums[2 * kLead];

  void tell(std::int64_t stretch, float sum) {
    sums[stretch % (2 * kLead)] = sum;
    std::atomic_ref(stretches).store(stretch + 1, std::memory_order_release);
  }
  /// Waits for the sum of a stretch; for long only where threads outnumber the cores.
  float sum_of(std::int64_t stretch) {
    for (int turn = 0; std::atomic_ref(stretches).load(std::memory_order_acquire) <= stretch; ++turn)
      if (turn > 1000) std::this_thread::yield();
    return sums[stretch % (2 * kLead)];
  }
};

std::vector<Operand> told_of_threads(const Params&) {
  const auto threads = static_cast<std::size_t>(omp_get_max_threads());
  return {{.name = "told", .elements = sizeof(Told) / sizeof(float) * threads, .role = Role::scratch}};
}

/// Scans `count` elements, a multiple of kGranule, with `sum` before them, and returns the sum of `count` elements from
/// `later`.
template <Store kStore>
float scan_and_sum(const float* x, float* y, std::int64_t count, float sum, const float* later) {
  constexpr int kSums = kGranule / kWidth;
  FloatVector before = FloatVector{} + sum, sums[kSums] = {};
  for (std::int64_t i = 0; i < count; i += kGranule)
#pragma GCC unroll 16
    for (int s = 0; s < kSums; ++s) {
      const std::int64_t j = i + s * kWidth;
      __builtin_prefetch(later + j + kPrefetch);
      sums[s] += *reinterpret_cast<const FloatVector*>(later + j);
      const FloatVector up_to = before + scanned(*reinterpret_cast<const FloatVector*>(x + j));
      store<kStore>(reinterpret_cast<FloatVector*>(y + j), up_to);
      before = last_lane(up_to, std::make_index_sequence<kWidth>());
    }
  for (int s = 1; s < kSums; ++s) sums[0] += sums[s];
  float total = 0;
  for (int lane = 0; lane < kWidth; ++lane) total += sums[0][lane];
  return total;
}

template <Store kStore>
void scan_fused(const Call& call, std::int64_t piece) {
  const auto* x = call.operand<const float>(0);
  auto* y = call.operand<float>(1);
  auto* told = call.operand<Told>(2);
  const std::int64_t n = call.params.at("n");
  for (int thread = 0; thread < omp_get_max_threads(); ++thread) told[thread].stretches = 0;
#pragma omp parallel
  {
    const std::int64_t thread = omp_get_thread_num(), team = omp_get_num_threads();
    const std::int64_t stretches = (n + team * piece - 1) / (team * piece);
    const auto begin_of = [&](std::int64_t stretch) { return std::min((stretch * team + thread) * piece, n); };
    const auto end_of = [&](std::int64_t stretch) { return std::min(begin_of(stretch) + piece, n); };
    for (std::int64_t stretch = 0; stretch < std::min<std::int64_t>(kLead, stretches); ++stretch)
      told[thread].tell(stretch, sum_range(x, begin_of(stretch), end_of(stretch)));
    float before_stretch = 0;
    for (std::int64_t stretch = 0; stretch < stretches; ++stretch) {
      float before = before_stretch;
      for (std::int64_t other = 0; other < team; ++other) {
        if (other == thread) before = before_stretch;
        before_stretch += told[other].sum_of(stretch);
      }
      const std::int64_t begin = begin_of(stretch), later = begin_of(stretch + kLead);
      if (later + piece <= n) {
        told[thread].tell(stretch + kLead, scan_and_sum<kStore>(x + begin, y + begin, piece, before, x + later));
      } else {
        if (stretch + kLead < stretches)
          told[thread].tell(stretch + kLead, sum_range(x, later, end_of(stretch + kLead)));
        scan_range<kStore>(x, y, begin, end_of(stretch), before);
      }
    }
    finish_stores<kStore>();
  }
}

const bool added = add_kernel({
    .name = "cpu/prefix_sum/fused",
    .order = 50,
    .title = "OpenMP, fused passes",
    .idea = "Each thread sums a later piece in the loop that scans the present one, so that memory reads and writes at "
            "all times and no thread waits for sums.",
    .source = {{"merrill2016"}, {"yan2013"}, {"intel-optimization", "non-temporal stores, software prefetch"}},
    .tunables = {{"kib", {256, 64, 128, 512}, piece_kib}, kinds_of_store()},
    .scratch = told_of_threads,
    .run =
        [](const Call& call) {
          with_store(call.params, [&](auto store) { scan_fused<store>(call, piece_of_thread(call.params)); });
        },
});

}  // namespace
}  // namespace rung
