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
/// loses its column of B from caches that would hold it), prefetchers that fetch too much, pages, other programs; and
/// that a nearer cache hides uses from a farther one, which then drops the line sooner. Around the size at which
/// something just fits, a real cache goes over gradually where the formula jumps. Source: Hong, Kung: I/O complexity:
/// the red-blue pebble game (1981); Goto, van de Geijn: Anatomy of High-Performance Matrix Multiplication (2008); Low,
/// Igual, Smith, Quintana-Orti: Analytical Modeling Is Enough for High-Performance BLIS (2016).
#pragma once

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "common/machine/cpu_info.hpp"
#include "common/problem/matmul.hpp"
#include "cpu/matmul/grid.hpp"

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
  const double uses = f.m * f.n * f.k, b = kFloatBytes * f.k * f.n;
  const double row_of_a = kFloatBytes * f.k, row_of_c = kFloatBytes * f.n, column_of_b = std::min(kLineBytes * f.k, b);
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

/// Floats up to which the compiler keeps a row of sums in registers, as far as there are any; a longer one is a loop
/// over memory. Read off the code of g++ 12 for AVX2 and AVX-512.
constexpr int kMostSumsInRegisters = 128;

/// The interchanged loops on blocks: for top, for left (shared out among the threads), for phase, for row, for i, for
/// col. Of a row of sums, `register_bytes` stay in registers, if it is not too long; the others are loaded and stored.
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
  const double in_memory = block > kMostSumsInRegisters ? 1 : std::max(0.0, sums - register_bytes) / sums;
  const double requested = kFloatBytes * uses * (1 + 2 * in_memory) + a * across + c * (2 * phases - 1);
  return {.l1 = requested,
          .l2 = beyond_shared(caches.l1, 1),
          .l3 = beyond_shared(caches.l2, 1),
          .dram = beyond_shared(caches.l3, threads)};
}

/// The same for this machine's registers, less two for the factor and a product, and as many threads as a parallel
/// region would now have.
inline LevelTraffic blocked_traffic(const MatmulShape& shape, int block) {
  const std::string& simd = cpu_info().simd;
  const double register_bytes = simd == "AVX-512" ? 30 * 64
                                : simd == "NEON"  ? 30 * 16
                                : simd == "SSE2"  ? 14 * 16
                                                  : 14 * 32;
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

/// Where tiles find their columns of B: in rows as they lie in memory; in a sliver, packed over the one before; or in
/// one of a panel's slivers, kept for all blocks of rows.
enum class Slivers { none, one, panel };

/// How a thread goes over its part of C: for nc columns, for kc of depth, for mc rows, for nr columns, for mr rows: a
/// tile, which reads kc x (mr + nr) floats, loads its part of C (not for the first kc) and stores it.
struct TileLoops {
  int mr = 1, nr = 1, kc = 1, mc = 1, nc = 1;
  int copied_rows = 0;  ///< rows of A copied together for each kc, before they are used: mc of them, or all
  Slivers slivers = Slivers::none;
  bool packs_computing = false;  ///< the first row of tiles packs B while it computes, not a pass of its own
  bool is_shared = false;        ///< copies and slivers are the whole team's, which packs together
};

/// Numbers and bytes of what TileLoops go over, if a grid of threads does so in step on f's rows and columns: together
/// they are one thread whose tiles and blocks are as many times as high and as wide, but each has packed for itself.
struct TileSizes {
  double slices, passes, blocks;               ///< kc that make up k; nc that make up n; mc that make up m
  double strips_of_a, strips_of_b;             ///< rows of tiles, columns of tiles
  double lines;                                ///< lines of 64 bytes that a row of a tile lies on, over what fills them
  double a, b;                                 ///< the operands; those read packed as often as threads have them
  double strip_of_a, strip_of_b, tile;         ///< what a tile reads and stores
  double block_of_a, panel_of_b;               ///< mc x kc, kc x nc
  double panel_of_c, block_of_c, column_of_c;  ///< m x nc, mc x nc, mc x nr
  double copy, place;                          ///< the place of A's copy; that of the slivers

  TileSizes(const Floats& f, const TileLoops& l, const Grid& grid) {
    const auto parts = [](double size, double most) { return std::max(1.0, std::ceil(size / most)); };
    const double mr = std::min<double>(l.mr * grid.down, f.m), nr = std::min<double>(l.nr * grid.across, f.n);
    const double mc = std::min<double>(l.mc * grid.down, f.m), nc = std::min<double>(l.nc * grid.across, f.n);
    const double kc = std::min<double>(l.kc, f.k);
    const double copies = l.copied_rows > 0 && !l.is_shared ? grid.across : 1;
    const double packings = l.slivers != Slivers::none && !l.is_shared ? grid.down : 1;
    slices = parts(f.k, kc), passes = parts(f.n, nc), blocks = parts(f.m, mc);
    strips_of_a = (blocks - 1) * parts(mc, mr) + parts(f.m - (blocks - 1) * mc, mr), strips_of_b = parts(f.n, nr);
    a = kFloatBytes * f.m * f.k * copies, b = kFloatBytes * f.k * f.n * packings;
    lines = (l.nr + 16 - std::gcd(l.nr, 16)) / double(l.nr);
    strip_of_a = kFloatBytes * mr * kc * copies, strip_of_b = kFloatBytes * kc * nr * packings;
    tile = kFloatBytes * mr * nr;
    block_of_a = kFloatBytes * mc * kc * copies, panel_of_b = kFloatBytes * kc * nc * packings;
    panel_of_c = kFloatBytes * f.m * nc, block_of_c = kFloatBytes * mc * nc, column_of_c = kFloatBytes * mc * nr;
    copy = kFloatBytes * std::min<double>(l.copied_rows * grid.down, f.m) * kc * copies;
    place = l.slivers == Slivers::none ? 0 : l.slivers == Slivers::one ? strip_of_b : panel_of_b;
  }
};

/// The share of a packed operand's place that must come again and be written back, when the next one is packed over it:
/// up to the n-th of its lines, n lines of the source have come, too, and what lies `between` its last use and that.
inline double lost_share(double cache, double place, double between) {
  return std::clamp((2 * place + between - cache) / place, 0.0, 1.0);
}

/// What passes a cache that a grid of `sharers` share, on f's rows and columns; `team` is the grid of all threads.
/// From one mr to the next, the strip of B is used again, and the place of a single sliver; from one nr to the next,
/// the block of A; from one mc to the next, the panel of B, and the place of a block's copy; from one kc to the next,
/// C; from one nc to the next, A. What there is but one of is found again by the next call. What other threads have
/// packed together with this one always travels.
inline double tiles_beyond(double cache, const Floats& f, const TileLoops& l, const Grid& sharers, const Grid& team) {
  const TileSizes s(f, l, sharers);
  const double a = kFloatBytes * f.m * f.k, b = kFloatBytes * f.k * f.n, c = kFloatBytes * f.m * f.n;
  const double slice_of_a = a / s.slices, slice_of_b = b / s.slices / s.passes, places = s.copy + s.place;
  if (f.all_bytes() + places <= cache) return 0;
  // What lies between two uses of each: besides itself, what the loops within touch meanwhile.
  const bool keeps_strip = s.strip_of_b + s.strip_of_a + s.tile <= cache;
  const bool keeps_block = s.block_of_a + s.strip_of_b + s.column_of_c <= cache;
  const bool keeps_panel = s.panel_of_b + 2 * s.block_of_a + s.block_of_c <= cache;
  const double b_between = slice_of_b + (s.place > 0 ? s.place : s.blocks > 1 ? slice_of_b : 0);
  const bool keeps_c = s.panel_of_c + slice_of_a + s.block_of_a + b_between <= cache;
  const bool keeps_a =
      places + s.panel_of_c * (s.passes > 1 ? 2 - 1 / s.slices : 1) + a + b / s.passes - slice_of_b <= cache;
  const double lines = keeps_block ? 1 : s.lines;
  // The second tile finds in a new sliver what its source has not driven out.
  const double lost_strip = lost_share(cache, s.strip_of_b, l.packs_computing ? 2 * s.strip_of_a + s.tile : 0);

  const double reads_of_a = s.a * (keeps_block ? s.passes : s.strips_of_b);
  double of_a = keeps_block && (keeps_a || s.slices * s.blocks == 1) ? 0 : reads_of_a;
  if (l.copied_rows > 0) {
    const bool travels = l.is_shared && sharers.across < team.across;
    const double between = !l.is_shared   ? s.strip_of_b + s.column_of_c
                           : s.blocks > 1 ? s.panel_of_b + s.block_of_c
                                          : s.strip_of_b;
    const double lost = travels ? 1 : lost_share(cache, s.copy, between);
    const double share = l.is_shared ? double(sharers.across) / team.across : 1;
    of_a = share * s.passes * ((keeps_a ? 0 : a) + 2 * s.a * lost);
    of_a += l.is_shared ? reads_of_a * lost : keeps_block ? 0 : reads_of_a;
  }

  const double reads_of_b = keeps_panel ? 1 : keeps_strip ? s.blocks : s.strips_of_a;
  double of_b = keeps_panel && s.slices * s.passes == 1 ? 0 : s.b * reads_of_b * lines;
  if (l.slivers != Slivers::none) {
    const bool travels = l.is_shared && sharers.down < team.down, is_one = l.slivers == Slivers::one;
    const double between = l.is_shared ? 2 * s.copy + s.block_of_c / 2
                           : is_one    ? 2 * s.strip_of_a + s.tile
                                       : s.block_of_a + s.block_of_c;
    const double lost = travels ? 1 : lost_share(cache, s.place, between);
    const double share = l.is_shared ? double(sharers.down) / team.down : 1;
    of_b = share * (b * lines + 2 * s.b * lost);
    of_b += s.b * (l.is_shared   ? reads_of_b * lost
                   : keeps_strip ? reads_of_b - 1 + lost_strip
                                 : reads_of_b - l.packs_computing);
  }
  const double trips_of_c = s.slices == 1 ? 1 : !keeps_c ? s.slices : s.passes > 1 ? 1 : 0;
  return of_a + of_b + 2 * c * trips_of_c * lines;
}

/// What the code of one part asks for.
inline double tiles_requested(const Floats& f, const TileLoops& l, const Grid& team) {
  const TileSizes s(f, l, {});
  double of_a = s.a * s.strips_of_b, of_b = s.b * s.strips_of_a;
  if (l.copied_rows > 0) of_a += 2 * s.a * s.passes / (l.is_shared ? team.across : 1);
  if (l.slivers != Slivers::none) of_b += (l.packs_computing ? 1 : 2) * s.b / (l.is_shared ? team.down : 1);
  return of_a + of_b + kFloatBytes * f.m * f.n * (2 * s.slices - 1);
}

/// A product by tiles in pieces, each of them by one thread of `team`; loops_of(rows, columns) says how it goes over a
/// piece of that size. Memory sees all threads in step, each on a piece, and then each on its next. If there are more
/// pieces than threads, one is not found in a cache from the call before: others have been done since. A thread that
/// does two pieces of a band may find A's rows again.
template <typename LoopsOf>
LevelTraffic pieces_traffic(const MatmulShape& shape, const std::vector<Piece>& pieces, const Grid& team,
                            const LoopsOf& loops_of, const Caches& caches) {
  const std::size_t threads = team.down * team.across;
  const bool is_found = pieces.size() <= threads, fits = Floats(shape).all_bytes() <= caches.l3;
  LevelTraffic all;
  for (std::size_t round = 0; round < pieces.size(); round += threads) {
    Floats largest({0, 0, shape.k}), together({0, shape.n, shape.k});
    for (std::size_t i = round; i < std::min(round + threads, pieces.size()); ++i) {
      if (pieces[i].size() == 0) continue;
      const int rows = pieces[i].rows.size(), columns = pieces[i].columns.size();
      const Floats part({rows, columns, shape.k});
      const TileLoops loops = loops_of(rows, columns);
      const bool is_same_band = i >= threads && pieces[i - threads].rows.begin == pieces[i].rows.begin;
      const auto least_beyond = [&](double cache) {
        if (is_found) return 0.0;
        const double a = kFloatBytes * part.m * part.k, c = kFloatBytes * part.m * part.n, b = part.all_bytes() - a - c;
        const bool keeps_a = is_same_band && a + 2 * (b + c) <= cache;  // from the thread's last piece
        return (keeps_a ? 0 : a) + b + 2 * c;                           // C comes and goes
      };
      all.l1 += tiles_requested(part, loops, team);
      all.l2 += std::max(least_beyond(caches.l1), tiles_beyond(caches.l1, part, loops, {}, team));
      all.l3 += std::max(least_beyond(caches.l2), tiles_beyond(caches.l2, part, loops, {}, team));
      if (part.m * part.n >= largest.m * largest.n) largest = part;
      together.m += part.m * part.n / together.n;
    }
    if (together.m == 0) continue;
    const TileLoops loops = loops_of(int(largest.m), int(largest.n));
    const bool keeps_b = together.all_bytes() <= caches.l3;
    const double least =
        kFloatBytes * (together.m * (shape.k + 2.0 * shape.n) + (keeps_b ? 0 : 1.0 * shape.k * shape.n));
    all.dram += std::max(is_found || fits ? 0 : least, tiles_beyond(caches.l3, together, loops, team, team));
  }
  return all;
}

/// The same in even pieces.
template <typename LoopsOf>
LevelTraffic tiles_traffic(const MatmulShape& shape, const Grid& grid, int row_unit, int column_unit,
                           const LoopsOf& loops_of, const Caches& caches = machine_caches()) {
  return pieces_traffic(shape, all_pieces(EvenPieces(grid, shape.m, shape.n, row_unit, column_unit)), grid, loops_of,
                        caches);
}

/// The same, in pieces that threads take as they become free.
template <typename LoopsOf>
LevelTraffic tiles_traffic(const MatmulShape& shape, const GuidedPieces& pieces, const LoopsOf& loops_of,
                           const Caches& caches = machine_caches()) {
  return pieces_traffic(shape, all_pieces(pieces), pieces.grid(), loops_of, caches);
}

/// for left (`strip` columns at a time), for row, for i, for col of the strip: what passes `cache`, where nothing is
/// found from before and so many threads each take a row, in step. From one row to the next, the strip of B is used
/// again; from one strip to the next, A.
inline double strips_beyond(double cache, const Floats& f, double strip, double in_step = 1) {
  if (f.m * f.n == 0) return 0;
  const double strips = std::ceil(f.n / strip), sums = kFloatBytes * std::min(strip, f.n);
  const double a = kFloatBytes * f.m * f.k, b = kLineBytes * f.k * std::ceil(kFloatBytes * f.n / kLineBytes);
  const bool keeps_strip = b / strips + in_step * (kFloatBytes * f.k + 2 * sums) <= cache;
  const bool keeps_a = a + b / strips + in_step * sums <= cache;
  const double rows = keeps_strip ? 1 : std::ceil(f.m / in_step);
  return a * (keeps_a ? 1 : strips) + b * rows + 2 * kFloatBytes * f.m * f.n;
}

/// The rows and columns that fill no tile, in strips: the columns' rows, and the rows' strips, are shared out among the
/// threads. Sums lie in memory, and are loaded and stored in each step. `tiled` is the part that tiles compute: neither
/// finds in a cache what the other has left.
inline LevelTraffic edges_traffic(const MatmulShape& shape, const MatmulShape& tiled, int strip, int threads,
                                  const Caches& caches) {
  const Floats all(shape), beside({tiled.m, shape.n - tiled.n, shape.k}), below({shape.m - tiled.m, shape.n, shape.k});
  const double strips = std::ceil(all.n / strip), sharers = std::clamp<double>(strips, 1, threads);
  Floats beside_of_one = beside, below_of_one = below;
  beside_of_one.m /= threads, below_of_one.n /= sharers;
  const auto by_each = [=](double cache) {
    if (all.all_bytes() <= cache) return 0.0;
    return threads * strips_beyond(cache, beside_of_one, strip) + sharers * strips_beyond(cache, below_of_one, strip);
  };
  const double elements = beside.m * beside.n + below.m * below.n, of_a = beside.m * (beside.n > 0) + below.m * strips;
  return {.l1 = kFloatBytes * (of_a * all.k + elements * (3 * all.k + 2)),
          .l2 = by_each(caches.l1),
          .l3 = by_each(caches.l2),
          .dram = all.all_bytes() <= caches.l3 ? 0
                                               : strips_beyond(caches.l3, beside, strip, threads) +
                                                     strips_beyond(caches.l3, below, strip, threads / sharers)};
}

/// A product of a few rows, 8 rows of B at a time, each thread on its part of the columns. From 8 to the next, the rows
/// of C are used again; B comes once. Each vector of C loads the elements of A.
inline LevelTraffic streamed_traffic(const MatmulShape& shape, int lanes, int threads,
                                     const Caches& caches = machine_caches()) {
  constexpr double kSteps = 8;
  const Floats f(shape);
  const double visits = std::ceil(f.k / kSteps), vectors = std::ceil(f.n / lanes);
  const double a = kFloatBytes * f.m * f.k, b = kFloatBytes * f.k * f.n, c = kFloatBytes * f.m * f.n;
  const auto beyond_shared = [=](double cache, double parts) {
    if (a + (b + c) / parts <= cache) return 0.0;
    const bool keeps_c = (c + b / visits) / parts + kLineBytes * f.m <= cache;
    return a * parts * (keeps_c ? 1 : 2) + b + (!keeps_c ? 2 * c * visits : visits > 1 ? 0 : 2 * c);
  };
  return {.l1 = a * (2 * threads + vectors) + b + c * (2 * visits - 1),
          .l2 = beyond_shared(caches.l1, threads),
          .l3 = beyond_shared(caches.l2, threads),
          .dram = beyond_shared(caches.l3, 1)};
}

/// What two pieces of work move, one after the other.
inline LevelTraffic operator+(const LevelTraffic& x, const LevelTraffic& y) {
  return {x.l1 + y.l1, x.l2 + y.l2, x.l3 + y.l3, x.dram + y.dram};
}

/// Tiles on A and B as they lie in memory, the rows of tiles shared out among the threads, one row of them after the
/// other; then the edges, `strip` columns at a time.
inline LevelTraffic register_tile_traffic(const MatmulShape& shape, int mr, int nr, int kc, int strip, int threads,
                                          const Caches& caches = machine_caches()) {
  const MatmulShape tiled{shape.m / mr * mr, shape.n / nr * nr, shape.k};
  const int down = std::clamp(tiled.m / mr, 1, threads);
  const auto loops = [&](int, int columns) {
    return TileLoops{.mr = mr, .nr = nr, .kc = kc, .mc = mr, .nc = std::max(1, columns)};
  };
  return tiles_traffic(tiled, {down, std::max(1, threads / down)}, mr, nr, loops, caches) +
         edges_traffic(shape, tiled, strip, threads, caches);
}

}  // namespace rung
