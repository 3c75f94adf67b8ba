/// The copy bandwidth of memory: every thread copies its own contiguous part. The stores go past the caches; an
/// ordinary store would first fetch the line that it overwrites, a third transfer that the formula does not count.
/// Source: STREAM copy, with streaming stores.
#include <omp.h>

#include <algorithm>
#ifdef __SSE2__
#include <immintrin.h>
#endif

#include "common/problem/copy.hpp"
#include "cpu/ceilings/working_set.hpp"

namespace rung {
namespace {

/// Copies `count` floats, a multiple of 64, between 64-byte aligned arrays.
void copy_part(const float* from, float* to, std::int64_t count) {
#ifdef __SSE2__
  for (std::int64_t i = 0; i < count; i += 16)
#pragma GCC unroll 4
    for (int quarter = 0; quarter < 16; quarter += 4) _mm_stream_ps(to + i + quarter, _mm_load_ps(from + i + quarter));
  _mm_sfence();  // streaming stores are not ordered: all must have left before the call ends
#else
  std::copy_n(from, count, to);
#endif
}

void copy_all(const Call& call) {
  const auto* from = call.operand<const float>(0);
  auto* to = call.operand<float>(1);
  const std::int64_t granules = call.params.at("bytes") / kCopyGranule, floats = kCopyGranule / 4;
#pragma omp parallel
  {
    const std::int64_t thread = omp_get_thread_num(), team = omp_get_num_threads();
    const std::int64_t begin = granules * thread / team * floats, end = granules * (thread + 1) / team * floats;
    copy_part(from + begin, to + begin, end - begin);
  }
}

const bool added = add_kernel({
    .name = "cpu/copy/dram",
    .order = 50,
    .title = "DRAM copy",
    .idea = "Every thread copies its part of an array four times the size of all caches, with stores past the caches.",
    .source = "STREAM copy",
    .ceiling = Ceiling{.label = "DRAM copy", .is_bandwidth = true},
    .refuse = [](const Params&) { return refuse_level(Level::dram); },
    .sizes =
        [] {
          return Params{{"bytes", granular_working_set(Level::dram, kCopyGranule)}};
        },
    .run = copy_all,
});

}  // namespace
}  // namespace rung
