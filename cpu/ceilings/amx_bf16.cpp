/// The rate of Intel AMX's bfloat16 products on all threads: each multiplies a 16 x 32 by a 32 x 16 tile and adds to
/// 16 x 16 sums. The unit starts a product every 16 cycles with a latency of 52, so four independent chains keep it
/// busy; with a tile of A and two of B they occupy seven of the eight tile registers. Groups of chains are scheduled
/// dynamically, so that no thread waits for the slowest core. Source: Intel 64 and IA-32 Architectures Optimization
/// Reference Manual, chapter on AMX.
#if defined(__x86_64__) && defined(__linux__)
#include <immintrin.h>
#include <omp.h>

#include "common/problem/fma_tiles.hpp"
#include "cpu/amx.hpp"

namespace rung {
namespace {

constexpr int kGroup = 4;      // chains in the tile registers at a time
constexpr int kRowBytes = 64;  // of every tile
constexpr int kPairRows = kTileDepth / 2;

/// The unit's layout of B: a row holds two rows of B, their elements interleaved.
struct alignas(64) PairedRows {
  Bf16 at[kPairRows][2 * kTileCols];
};

PairedRows paired(const Bf16* b) {
  PairedRows result;
  for (int i = 0; i < kTileDepth; ++i)
    for (int col = 0; col < kTileCols; ++col) result.at[i / 2][2 * col + i % 2] = b[i * kTileCols + col];
  return result;
}

// An attribute instead of a compiler flag for the file, since only this function may use instructions that the CPU may
// lack. The numbers of tile registers are part of the instructions and cannot be variables.
__attribute__((target("amx-tile,amx-bf16"))) void iterate(const float* x, const Bf16* a, const PairedRows* b, float* y,
                                                          std::int64_t iterations) {
  static const TileShapes shapes;
  asm volatile("" ::: "memory");  // g++'s tile loads do not declare what they read: it must be in memory
  _tile_loadconfig(&shapes);
  _tile_loadd(0, x, kRowBytes);
  _tile_loadd(1, x + kTileSums, kRowBytes);
  _tile_loadd(2, x + 2 * kTileSums, kRowBytes);
  _tile_loadd(3, x + 3 * kTileSums, kRowBytes);
  _tile_loadd(4, a, kRowBytes);
  _tile_loadd(5, b[0].at, kRowBytes);
  _tile_loadd(6, b[1].at, kRowBytes);
  for (; iterations > 0; iterations -= 2) {
    _tile_dpbf16ps(0, 4, 5);
    _tile_dpbf16ps(1, 4, 5);
    _tile_dpbf16ps(2, 4, 5);
    _tile_dpbf16ps(3, 4, 5);
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 6);
    _tile_dpbf16ps(2, 4, 6);
    _tile_dpbf16ps(3, 4, 6);
  }
  _tile_stored(0, y, kRowBytes);
  _tile_stored(1, y + kTileSums, kRowBytes);
  _tile_stored(2, y + 2 * kTileSums, kRowBytes);
  _tile_stored(3, y + 3 * kTileSums, kRowBytes);
  _tile_release();
}

void run_chains(const Call& call) {
  const auto* x = call.operand<const float>(0);
  const auto *a = call.operand<const std::uint16_t>(1), *b = call.operand<const std::uint16_t>(2);
  auto* y = call.operand<float>(3);
  const std::int64_t chains = call.params.at("chains"), iterations = call.params.at("iterations");
  const PairedRows steps[] = {paired(b), paired(b + kTileDepth * kTileCols)};
#pragma omp parallel for schedule(dynamic)
  for (std::int64_t first = 0; first < chains; first += kGroup)
    iterate(x + first * kTileSums, a, steps, y + first * kTileSums, iterations);
}

std::string refuse(const Params& p) {
  if (const std::string reason = refuse_amx_bf16(); !reason.empty()) return reason;
  return p.at("chains") % kGroup == 0 ? "" : "chains must be a multiple of " + std::to_string(kGroup);
}

const bool added = add_kernel({
    .name = "cpu/fma/amx_bf16",
    .order = 10,
    .title = "AMX BF16",
    .idea = "Four chains of 16 x 32 x 16 tile products per thread: the peak of Intel's matrix unit.",
    .source = {{"intel-optimization", "chapter on AMX"}},
    .type = Type::bf16,
    .ceiling = Ceiling{.label = "AMX BF16", .is_bandwidth = false},
    .refuse = refuse,
    .sizes =
        [] {  // 32 groups for each thread, together iterated for about a millisecond
          return Params{{"chains", std::int64_t{omp_get_max_threads()} * 32 * kGroup},
                        {"iterations", std::int64_t{1} << 10}};
        },
    .run = run_chains,
});

}  // namespace
}  // namespace rung
#endif
