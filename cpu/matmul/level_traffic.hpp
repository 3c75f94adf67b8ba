/// Bytes that a matrix product moves between the levels of a CPU's memory, by formula: a model of the caches, to set
/// beside what hardware events count.
///
/// The model. Each cache is fully associative, has lines of 64 bytes and replaces the least recently used one. A store
/// first fetches its line, and a line that was written travels back once: 8 bytes for each float of C that comes and
/// goes. What is used again is still there if all that is touched in between fits the cache with it; if not, it is
/// fetched again. So each formula asks, for one loop after another, whether what lies between two uses fits. Calls
/// follow each other (the hot mode): operands that fit a cache together never leave it, and nothing passes beyond; nor
/// does B where it alone is kept, whose last use in one call is soon followed by its first in the next.
///
/// What it leaves out: sets (a stride of a power of two uses few of them, and the textbook's loop at n = 1024 then
/// loses its column of B from caches that would hold it), prefetchers that fetch too much, pages, other programs.
/// Around the size at which something just fits, a real cache goes over gradually where the formula jumps. Source:
/// Hong, Kung: I/O complexity: the red-blue pebble game (1981); Goto, van de Geijn: Anatomy of High-Performance Matrix
/// Multiplication (2008); Low, Igual, Smith, Quintana-Orti: Analytical Modeling Is Enough for High-Performance BLIS
/// (2016).
#pragma once

#include <omp.h>

#include <algorithm>
#include <cmath>

#include "common/harness/cpu_info.hpp"
#include "common/problem/matmul.hpp"

namespace rung {

/// Bytes of the caches that one thread reaches; L3 is shared by all threads.
struct Caches {
  double l1 = 0, l2 = 0, l3 = 0;
};

/// Those of this machine. A level that it does not tell of keeps what the nearer one does.
inline Caches machine_caches() {
  const CpuInfo& cpu = cpu_info();
  const auto l1 = static_cast<double>(cpu.l1d_bytes), l2 = std::max(l1, static_cast<double>(cpu.l2_bytes));
  return {l1, l2, std::max(l2, static_cast<double>(cpu.all_l3_bytes))};
}

constexpr double kLineBytes = 64, kFloatBytes = 4;

/// The operands of a product in floats; their bytes together.
struct Floats {
  double m, n, k;
  explicit Floats(const MatmulShape& s) : m(s.m), n(s.n), k(s.k) {}
  double all_bytes() const { return kFloatBytes * (m * k + k * n + m * n); }
};

/// The traffic of a product whose code asks for `requested` bytes, if beyond(bytes) passes a cache of that size.
template <typename Beyond>
LevelTraffic traffic_of(double requested, const Caches& caches, const Beyond& beyond) {
  return {.l1 = requested, .l2 = beyond(caches.l1), .l3 = beyond(caches.l2), .dram = beyond(caches.l3)};
}

/// for row, for col, for i: one thread. From one column to the next, the lines of B's column (k of them: 16 columns
/// share a line) and the row of A are used again; from one row to the next, all of B is.
inline LevelTraffic naive_traffic(const MatmulShape& shape, const Caches& caches = machine_caches()) {
  const Floats f(shape);
  const double uses = f.m * f.n * f.k, row_of_a = kFloatBytes * f.k, row_of_c = kFloatBytes * f.n;
  const double b = kFloatBytes * f.k * f.n, column_of_b = std::min(kLineBytes * f.k, b);
  const auto beyond = [=](double cache) {
    if (f.all_bytes() <= cache) return 0.0;
    const bool keeps_column = column_of_b + row_of_a + kLineBytes <= cache, keeps_b = b + row_of_a + row_of_c <= cache;
    const double of_a = keeps_column ? row_of_a * f.m : kFloatBytes * uses;
    const double of_b = keeps_b ? 0 : keeps_column ? b * f.m : std::min(kLineBytes * uses, b * f.m * f.n);
    const double of_c = 2 * f.m * (keeps_column ? row_of_c : std::min(kLineBytes, row_of_c) * f.n);
    return of_a + of_b + of_c;
  };
  return traffic_of(kFloatBytes * (2 * uses + f.m * f.n), caches, beyond);
}

/// for row, for i, for col: one thread. From one i to the next, the row of C is used again, and the line of A of which
/// it takes the next element; from one row to the next, all of B is. Each multiply-add loads B and C and stores C.
inline LevelTraffic interchanged_traffic(const MatmulShape& shape, const Caches& caches = machine_caches()) {
  const Floats f(shape);
  const double uses = f.m * f.n * f.k, a = kFloatBytes * f.m * f.k, b = kFloatBytes * f.k * f.n;
  const double row = kFloatBytes * f.n;
  const auto beyond = [=](double cache) {
    if (f.all_bytes() <= cache) return 0.0;
    const bool keeps_row = 2 * row + kLineBytes <= cache, keeps_b = b + row + kFloatBytes * f.k <= cache;
    const double of_a = keeps_row ? a : std::min(kLineBytes * f.m * f.k, a * f.n);
    const double of_b = keeps_b ? 0 : b * f.m;
    const double of_c = 2 * row * f.m * (keeps_row ? 1 : f.k + 1);
    return of_a + of_b + of_c;
  };
  return traffic_of(kFloatBytes * (3 * uses + f.m * f.k + f.m * f.n), caches, beyond);
}

/// The interchanged loops on blocks: for top, for left (shared out among the threads), for phase, for row, for i, for
/// col. A row of sums stays in registers if they take at most half of them, and is loaded and stored like C otherwise.
/// From one row to the next, the block of B is used again; from one phase to the next, the block of C; from one left to
/// the next, the panel of A (by each thread for itself); from one top to the next, all of B.
inline LevelTraffic blocked_traffic(const MatmulShape& shape, int block, int threads, double register_bytes,
                                    const Caches& caches = machine_caches()) {
  const Floats f(shape);
  const double side = block, uses = f.m * f.n * f.k;
  const double a = kFloatBytes * f.m * f.k, b = kFloatBytes * f.k * f.n, c = kFloatBytes * f.m * f.n;
  const double width = std::min(side, f.n), height = std::min(side, f.m), depth = std::min(side, f.k);
  const double across = std::ceil(f.n / side), down = std::ceil(f.m / side), phases = std::ceil(f.k / side);
  const double block_of_b = kFloatBytes * depth * width, block_of_c = kFloatBytes * height * width;
  const double row_of_a = kFloatBytes * depth, panel_of_a = kFloatBytes * height * f.k;
  const double sums = kFloatBytes * side;
  const auto beyond_shared = [=](double cache, double sharers) {
    if (f.all_bytes() + sums <= cache) return 0.0;
    const double part = cache / sharers, caches_in_use = threads / sharers;
    const bool keeps_block = block_of_b + row_of_a + 2 * sums <= part;
    const bool keeps_c = 2 * block_of_b + block_of_c + row_of_a * height + sums <= part;
    const bool keeps_panel = panel_of_a + kFloatBytes * f.k * width + block_of_c + sums <= part;
    const bool keeps_b = b + 2 * panel_of_a + kFloatBytes * height * f.n + sums <= part;
    const double of_a = a * (keeps_panel ? std::min(caches_in_use, across) : across);
    const double of_b = b * (keeps_b ? 0 : keeps_block ? down : f.m);
    const double of_c = 2 * c * (keeps_c ? 1 : phases);
    return of_a + of_b + of_c;
  };
  const double sums_loaded_and_stored = kFloatBytes * side > register_bytes / 2 ? 2 * uses : 0;
  const double requested = kFloatBytes * (uses + sums_loaded_and_stored) + a * across + c * (2 * phases - 1);
  return {.l1 = requested,
          .l2 = beyond_shared(caches.l1, 1),
          .l3 = beyond_shared(caches.l2, 1),
          .dram = beyond_shared(caches.l3, threads)};
}

/// The same for this machine's registers and as many threads as a parallel region would now have.
inline LevelTraffic blocked_traffic(const MatmulShape& shape, int block) {
  const std::string& simd = cpu_info().simd;
  const double register_bytes = simd == "AVX-512" ? 32 * 64
                                : simd == "NEON"  ? 32 * 16
                                : simd == "SSE2"  ? 16 * 16
                                                  : 16 * 32;
  return blocked_traffic(shape, block, omp_get_max_threads(), register_bytes);
}

/// A packed product of BLIS's structure: for nc columns, for kc of depth (packs kc x nc of B), for mc rows (packs mc x
/// kc of A; shared out among the threads), for nr columns, for mr rows: the micro-kernel, on kc x (mr + nr) floats and
/// mr x nr of C, which it loads and stores once for each kc. Packing loads and stores each float once.
/// From one mr to the next, kc x nr of packed B are used again (the L1's part), from one nr to the next the packed
/// block of A (the L2's), from one mc to the next the packed panel of B (the L3's), from one kc to the next C, from one
/// nc to the next A.
inline LevelTraffic packed_traffic(const MatmulShape& shape, int mr, int nr, int kc, int mc, int nc, int threads,
                                   const Caches& caches = machine_caches()) {
  const Floats f(shape);
  const double depth = std::min<double>(kc, f.k), columns = std::min<double>(nc, f.n);
  const double rows = std::min<double>(mc, std::ceil(f.m / threads));
  const double slices = std::ceil(f.k / kc), passes = std::ceil(f.n / nc), blocks = std::ceil(f.m / rows);
  const double a = kFloatBytes * f.m * f.k * passes, b = kFloatBytes * f.k * f.n, c = kFloatBytes * f.m * f.n;
  const double strips_of_a = std::ceil(f.m / mr), strips_of_b = std::ceil(f.n / nr);
  const double strip_of_a = kFloatBytes * mr * depth, strip_of_b = kFloatBytes * nr * depth;
  const double block_of_a = kFloatBytes * rows * depth, panel_of_b = kFloatBytes * depth * columns;
  const double tile = kFloatBytes * mr * nr;
  const auto beyond_shared = [=](double cache, double sharers) {
    const double packed = panel_of_b + block_of_a * sharers;
    if (f.all_bytes() + packed <= cache) return 0.0;
    const double part = cache / sharers;
    const bool keeps_strip = strip_of_b + 2 * strip_of_a + 2 * tile <= part;
    const bool keeps_block = block_of_a + 2 * strip_of_b + kFloatBytes * rows * nr * 2 <= part;
    const bool keeps_panel = packed + (block_of_a + kFloatBytes * rows * columns) * sharers <= cache;
    const bool keeps_c = packed + kFloatBytes * (f.m * columns + f.m * depth + depth * columns) <= cache;
    const bool keeps_a = packed + kFloatBytes * (f.m * f.k + f.k * columns + f.m * columns) <= cache;
    // Packed operands that stay need no trip at all: the next block is packed over them.
    // The panel of B, while it is packed, drives out the block of A's place all the same.
    const double of_packed_a = !keeps_block   ? 2 * a + kFloatBytes * f.m * f.k * strips_of_b
                               : !keeps_panel ? 2 * block_of_a * threads * slices * passes
                                              : 0;
    const double of_a = (keeps_a ? 0 : a) + of_packed_a;
    const double of_b = b + (keeps_panel ? 0 : 2 * b + (keeps_strip ? b * blocks : b * strips_of_a));
    const double of_c = 2 * c * (!keeps_c ? slices : passes > 1 ? 1 : 0);
    return of_a + of_b + of_c;
  };
  const double kernel = kFloatBytes * f.k * (f.m * strips_of_b + f.n * strips_of_a) + 2 * c * slices;
  return {.l1 = kernel + 2 * a + 2 * b,
          .l2 = beyond_shared(caches.l1, 1),
          .l3 = beyond_shared(caches.l2, 1),
          .dram = beyond_shared(caches.l3, threads)};
}

}  // namespace rung
