/// All threads, each on its own part of y. A CPU moves lines of 64 bytes: a stride of 16 float32 or more fetches one
/// for every element. At smaller strides the loop reads everything in between, which the prefetchers load as fast as
/// without a stride. y's lines are fetched before they are overwritten. Floor: the lines' bytes over the bandwidth of
/// the memory that holds the arrays.
#include <algorithm>

#include "common/machine/cpu_info.hpp"
#include "common/problem/copy_strided.hpp"

namespace rung {
namespace {

constexpr std::int64_t kLine = 64;

template <int Words>
struct alignas(4 * Words) Element {
  float word[Words];
};

template <int Words>
void copy_strided(const Call& call) {
  const std::int64_t stride = call.params.at("stride"), elements = strided_elements(call.params);
  const auto* x = call.operand<const Element<Words>>(0) + call.params.at("offset");
  auto* y = call.operand<Element<Words>>(1);
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < elements; ++i) y[i] = x[i * stride];
}

/// The lines of x that are accessed, and y's lines twice, fetched and written, beyond a level that holds both.
LevelTraffic traffic(const Params& p) {
  const double read =
      strided_bytes(p) * std::clamp<double>(p.at("stride"), 1, static_cast<double>(kLine / p.at("width")));
  const double lines = read + 2 * strided_bytes(p), footprint = read + strided_bytes(p);
  const CpuInfo& cpu = cpu_info();
  const auto beyond = [&](double bytes) { return footprint > bytes ? lines : 0; };
  return {.l1 = 2 * strided_bytes(p),
          .l2 = beyond(static_cast<double>(cpu.l1d_bytes) * cpu.cores),
          .l3 = beyond(static_cast<double>(cpu.all_l2_bytes)),
          .dram = beyond(static_cast<double>(cpu.all_l2_bytes + cpu.all_l3_bytes))};
}

const bool added = add_kernel({
    .name = "cpu/copy_strided/openmp",
    .order = 10,
    .title = "OpenMP",
    .idea = "The loop divided among all threads: every element that is read loads its line of 64 bytes.",
    .source = {{"openmp", "parallel for"}},
    .cpu = {.level_traffic = traffic},
    .run =
        [](const Call& call) {
          const std::int64_t width = call.params.at("width");
          if (width == 4) copy_strided<1>(call);
          if (width == 8) copy_strided<2>(call);
          if (width == 16) copy_strided<4>(call);
        },
});

}  // namespace
}  // namespace rung
