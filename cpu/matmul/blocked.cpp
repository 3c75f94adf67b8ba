/// The interchanged loops on square blocks: while a block of C is computed, it and a block of B stay in the cache, so
/// each element loaded from memory is used `block` times. Blocks of C are divided among all threads. On the GPU a tile
/// is copied to shared memory explicitly; here the cache holds it implicitly, if the blocks fit. A row of the block of
/// C is summed in a local array, which the compiler keeps in registers if it is short. Source: PMPP 4e, section 5.4
/// (tiling on CPUs relies on the caches).
#include <algorithm>

#include "common/machine/cpu_info.hpp"
#include "common/problem/matmul.hpp"
#include "cpu/matmul/level_traffic.hpp"

namespace rung {
namespace {

using Blocks = Choices<128, 16, 32, 64, 256>;

template <std::size_t kBlock>
void matmul_blocked(const float* __restrict a, const float* __restrict b, float* __restrict c, std::size_t m,
                    std::size_t n, std::size_t k) {
  // Dynamic, since blocks at the edges are cheaper and a core may be slowed down by another process.
#pragma omp parallel for collapse(2) schedule(dynamic)
  for (std::size_t top = 0; top < m; top += kBlock)
    for (std::size_t left = 0; left < n; left += kBlock) {
      const auto fill_block = [=](std::size_t width) {
        for (std::size_t phase = 0; phase < k; phase += kBlock)
          for (std::size_t row = top; row < std::min(top + kBlock, m); ++row) {
            float sums[kBlock] = {};
            if (phase > 0)
              for (std::size_t col = 0; col < width; ++col) sums[col] = c[row * n + left + col];
            for (std::size_t i = phase; i < std::min(phase + kBlock, k); ++i)
              for (std::size_t col = 0; col < width; ++col) sums[col] += a[row * k + i] * b[i * n + left + col];
            for (std::size_t col = 0; col < width; ++col) c[row * n + left + col] = sums[col];
          }
      };
      if (left + kBlock <= n)
        fill_block(kBlock);  // a constant width: the compiler unrolls the loop over the few vectors
      else
        fill_block(n - left);
    }
}

/// The largest block such that a block of B and a block of C fill at most a quarter of an L2, which leaves room for A,
/// cache conflicts and prefetchers. An unknown L2 is assumed to have 512 KiB. Even with a large L2, a larger block does
/// not pay if its rows of sums no longer fit registers.
std::int64_t block_for_caches() {
  const std::size_t l2 = cpu_info().l2_bytes ? cpu_info().l2_bytes : 512 << 10;
  std::int64_t best = 0;
  for (const auto& [block, word] : Blocks::values())
    if (block <= kMostSumsInRegisters && std::size_t(2 * block * block) * sizeof(float) <= l2 / 4)
      best = std::max(best, block);
  return best > 0 ? best : Blocks::values().front().number;
}

const bool added = add_kernel({
    .name = "cpu/matmul/blocked",
    .order = 30,
    .title = "blocked, all threads",
    .idea =
        "Blocks of C and B stay in the cache and each element loaded is used many times; all threads share the work.",
    .source = {{"pmpp", "section 5.4"}},
    .tunables = {{"block", Blocks::values(), block_for_caches}},
    .cpu = {.level_traffic =
                [](const Params& p) { return blocked_traffic(matmul_shape(p), static_cast<int>(p.at("block"))); }},
    .run =
        [](const Call& call) {
          const auto [m, n, k] = matmul_shape(call.params);
          const auto *a = call.operand<const float>(0), *b = call.operand<const float>(1);
          auto* c = call.operand<float>(2);
          Blocks::pick(call.params.at("block"), [=, m = m, n = n, k = k](auto block) {
            matmul_blocked<static_cast<std::size_t>(block)>(a, b, c, m, n, k);
          });
        },
});

}  // namespace
}  // namespace rung
