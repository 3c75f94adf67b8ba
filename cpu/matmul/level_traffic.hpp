/// Bytes that a matrix product moves between the levels of a CPU's memory hierarchy, by formula: a model of the caches,
/// to be compared with hardware events.
///
/// The model. Each cache is fully associative, has lines of 64 bytes and LRU replacement. A store allocates, i.e.
/// fetches its line, and a dirty line is written back once: 8 bytes for each float of C that is loaded and written
/// back. Data is reused from a cache if everything touched between the two uses fits the cache together with it;
/// otherwise it is fetched again. So each formula determines, loop by loop, whether the reuse distance fits. Calls
/// follow each other (hot mode): operands that fit a cache together stay in it, without traffic beyond. So does B if it
/// alone is retained, since its last use in one call is soon followed by its first use in the next.
///
/// Not modelled: associativity (a stride of a power of two uses few sets, so that the textbook loop at n = 1024 loses
/// its column of B from caches that could hold it), useless prefetches, pages, other processes; and that a nearer cache
/// hides reuse from a farther one, which then evicts the line sooner. Around the size at which data just fits, a real
/// cache degrades gradually where the formula steps. Source: Hong, Kung: I/O complexity: the red-blue pebble game
/// (1981); Goto, van de Geijn: Anatomy of High-Performance Matrix Multiplication (2008); Low, Igual, Smith,
/// Quintana-Orti: Analytical Modeling Is Enough for High-Performance BLIS (2016).
#pragma once

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "common/machine/cpu_info.hpp"
#include "common/problem/matmul.hpp"
#include "cpu/matmul/grid.hpp"
#include "cpu/simd_widths.hpp"

namespace rung {

/// Bytes of the caches that a thread can use; L3 is shared by all threads.
struct Caches {
  double l1 = 0, l2 = 0, l3 = 0;
};

/// The caches of this machine. An unknown level is as large as the nearer one.
inline Caches machine_caches() {
  const CpuInfo& cpu = cpu_info();
  const auto l1 = static_cast<double>(cpu.l1d_bytes), l2 = std::max(l1, static_cast<double>(cpu.l2_bytes));
  return {l1, l2, std::max(l2, static_cast<double>(cpu.all_l3_bytes))};
}

constexpr double kLineBytes = 64, kFloatBytes = 4;

/// The shape of a product, and the bytes of its operands together.
struct Floats {
  double m, n, k;
  explicit Floats(const MatmulShape& s) : m(s.m), n(s.n), k(s.k) {}
  double all_bytes() const { return kFloatBytes * (m * k + k * n + m * n); }
};

/// The traffic of a product whose code requests `requested` bytes; beyond(bytes): the traffic beyond a cache of that
/// size.
template <typename Beyond>
LevelTraffic traffic_of(double requested, const Caches& caches, const Beyond& beyond) {
  return {.l1 = requested, .l2 = beyond(caches.l1), .l3 = beyond(caches.l2), .dram = beyond(caches.l3)};
}

/// for row, for col, for i: one thread. Reused from one column to the next: the lines of B's column (k of them, each
/// shared by 16 columns) and the row of A; from one row to the next: all of B.
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

/// for row, for i, for col: one thread. Reused from one i to the next: the row of C, and the line of A with the next
/// element; from one row to the next: all of B. Each multiply-add loads B and C and stores C.
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

/// The longest row of sums, in floats, that the compiler keeps in registers as far as there are enough; a longer one is
/// a loop over memory. From the code of g++ 12 for AVX2 and AVX-512.
constexpr int kMostSumsInRegisters = 128;

/// The part of a row of `sums` floats that is loaded and stored, since registers hold only `register_bytes` of it.
inline double part_in_memory(double sums, double register_bytes) {
  const double bytes = kFloatBytes * sums;
  return sums > kMostSumsInRegisters ? 1 : std::max(0.0, bytes - register_bytes) / bytes;
}

/// The bytes of this machine's vector registers, without two registers for the factor and a product.
inline double bytes_of_sum_registers() {
  const SimdWidth& simd = simd_width_of(cpu_info().simd);
  return (simd.registers - 2) * simd.bits / 8;
}

/// for row (divided among the threads), for strip, for i, for col: a strip's sums in registers as far as there are
/// enough. Reused from one strip to the next: the row of A; from one row to the next: all of B.
inline LevelTraffic strips_traffic(const MatmulShape& shape, int strip,
                                   double register_bytes = bytes_of_sum_registers(),
                                   const Caches& caches = machine_caches()) {
  const Floats f(shape);
  const double uses = f.m * f.n * f.k, strips = std::ceil(f.n / strip), width = std::min<double>(strip, f.n);
  const double a = kFloatBytes * f.m * f.k, b = kFloatBytes * f.k * f.n, c = kFloatBytes * f.m * f.n;
  const double row_of_a = kFloatBytes * f.k, row_of_c = kFloatBytes * f.n, sums = kFloatBytes * strip;
  const auto beyond = [=](double cache) {
    if (f.all_bytes() + sums <= cache) return 0.0;
    const bool keeps_row = row_of_a + kFloatBytes * f.k * width + sums <= cache;
    const bool keeps_b = b + row_of_a + row_of_c + sums <= cache;
    return a * (keeps_row ? 1 : strips) + (keeps_b ? 0 : b * f.m) + 2 * c;
  };
  return traffic_of(kFloatBytes * uses * (1 + 2 * part_in_memory(strip, register_bytes)) + a * strips + c, caches,
                    beyond);
}

/// The interchanged loops on blocks: for top, for left (divided among the threads), for phase, for row, for i, for col.
/// Of a row of sums, `register_bytes` stay in registers, if it is not too long; the others are loaded and stored.
/// Reused from one row to the next: the block of B; from one phase to the next: the block of C; from one left to the
/// next: the panel of A (by each thread for itself); from one top to the next: all of B.
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
  const double requested =
      kFloatBytes * uses * (1 + 2 * part_in_memory(side, register_bytes)) + a * across + c * (2 * phases - 1);
  return {.l1 = requested,
          .l2 = beyond_shared(caches.l1, 1),
          .l3 = beyond_shared(caches.l2, 1),
          .dram = beyond_shared(caches.l3, threads)};
}

/// The same for the registers of this machine and the number of threads of a parallel region.
inline LevelTraffic blocked_traffic(const MatmulShape& shape, int block) {
  return blocked_traffic(shape, block, omp_get_max_threads(), bytes_of_sum_registers());
}

/// A packed product with the loops of BLIS: for nc columns, for kc of depth (packs kc x nc of B), for mc rows (packs mc
/// x kc of A; divided among the threads), for nr columns, for mr rows: the micro-kernel, on kc x (mr + nr) floats and
/// mr x nr of C, which it loads and stores once for each kc. Packing loads and stores each float once.
/// Reused from one mr to the next: the micro-panel of B (in L1); from one nr to the next: the packed block of A (in
/// L2); from one mc to the next: the packed panel of B (in L3); from one kc to the next: C; from one nc to the next: A.
inline LevelTraffic packed_traffic(const MatmulShape& shape, int mr, int nr, int kc, int mc, int nc, int threads,
                                   const Caches& caches = machine_caches()) {
  const Floats f(shape);
  const double depth = std::min<double>(kc, f.k), columns = std::min<double>(nc, f.n);
  const double rows = std::min<double>(mc, std::ceil(f.m / threads));
  const double slices = std::ceil(f.k / kc), passes = std::ceil(f.n / nc), blocks = std::ceil(f.m / rows);
  const double a = kFloatBytes * f.m * f.k * passes, b = kFloatBytes * f.k * f.n, c = kFloatBytes * f.m * f.n;
  const double micro_panels_a = std::ceil(f.m / mr), micro_panels_b = std::ceil(f.n / nr);
  const double micro_panel_a = kFloatBytes * mr * depth, micro_panel_b = kFloatBytes * nr * depth;
  const double block_of_a = kFloatBytes * rows * depth, panel_of_b = kFloatBytes * depth * columns;
  const double tile = kFloatBytes * mr * nr;
  const auto beyond_shared = [=](double cache, double sharers) {
    const double packed = panel_of_b + block_of_a * sharers;
    if (f.all_bytes() + packed <= cache) return 0.0;
    const double part = cache / sharers;
    const bool keeps_micro_panel = micro_panel_b + 2 * micro_panel_a + 2 * tile <= part;
    const bool keeps_block = block_of_a + 2 * micro_panel_b + kFloatBytes * rows * nr * 2 <= part;
    const bool keeps_panel = packed + (block_of_a + kFloatBytes * rows * columns) * sharers <= cache;
    const bool keeps_c = packed + kFloatBytes * (f.m * columns + f.m * depth + depth * columns) <= cache;
    const bool keeps_a = packed + kFloatBytes * (f.m * f.k + f.k * columns + f.m * columns) <= cache;
    // Packed operands that stay in the cache cause no traffic: the next block overwrites them there. Packing the panel
    // of B, however, evicts the block of A.
    const double of_packed_a = !keeps_block   ? 2 * a + kFloatBytes * f.m * f.k * micro_panels_b
                               : !keeps_panel ? 2 * block_of_a * threads * slices * passes
                                              : 0;
    const double of_a = (keeps_a ? 0 : a) + of_packed_a;
    const double of_b = b + (keeps_panel ? 0 : 2 * b + (keeps_micro_panel ? b * blocks : b * micro_panels_a));
    const double of_c = 2 * c * (!keeps_c ? slices : passes > 1 ? 1 : 0);
    return of_a + of_b + of_c;
  };
  const double kernel = kFloatBytes * f.k * (f.m * micro_panels_b + f.n * micro_panels_a) + 2 * c * slices;
  return {.l1 = kernel + 2 * a + 2 * b,
          .l2 = beyond_shared(caches.l1, 1),
          .l3 = beyond_shared(caches.l2, 1),
          .dram = beyond_shared(caches.l3, threads)};
}

/// Where tiles read B: in place; in a single packed micro-panel, overwritten by the next one; or in one of the packed
/// micro-panels of a panel, which are kept for all blocks of rows.
enum class PackedB { none, micro_panel, panel };

/// The loops of a thread over its part of C: for nc columns, for kc of depth, for mc rows, for nr columns, for mr rows:
/// a tile, which reads kc x (mr + nr) floats, loads its part of C (not for the first kc) and stores it.
struct TileLoops {
  int mr = 1, nr = 1, kc = 1, mc = 1, nc = 1;
  int packed_rows = 0;  ///< rows of A packed at a time for each kc, before they are used: 0, mc or all
  PackedB packed_b = PackedB::none;
  bool packing_is_fused = false;  ///< the first row of tiles packs B while it computes, instead of a separate pass
  bool is_shared = false;         ///< all threads pack together and share the packed operands
};

/// Numbers and bytes of the parts of the operands in TileLoops, if a grid of threads executes them in lockstep on f's
/// rows and columns: together they are like one thread with higher and wider tiles and blocks, except that each packs
/// for itself.
struct TileSizes {
  double slices, passes, blocks;              ///< number of kc in k; of nc in n; of mc in m
  double micro_panels_a, micro_panels_b;      ///< number of rows of tiles; of columns of tiles
  double lines;                               ///< lines touched by a row of a tile, relative to the lines that it fills
  double a, b;                                ///< the operands; packed ones as often as threads have copies
  double micro_panel_a, micro_panel_b, tile;  ///< that a tile reads and stores
  double block_of_a, panel_of_b;              ///< mc x kc, kc x nc
  double panel_of_c, block_of_c, column_of_c;  ///< m x nc, mc x nc, mc x nr
  double packed_a, packed_b;                   ///< memory for packed operands

  TileSizes(const Floats& f, const TileLoops& l, const Grid& grid) {
    const auto parts = [](double size, double most) { return std::max(1.0, std::ceil(size / most)); };
    const double mr = std::min<double>(l.mr * grid.down, f.m), nr = std::min<double>(l.nr * grid.across, f.n);
    const double mc = std::min<double>(l.mc * grid.down, f.m), nc = std::min<double>(l.nc * grid.across, f.n);
    const double kc = std::min<double>(l.kc, f.k);
    const double copies = l.packed_rows > 0 && !l.is_shared ? grid.across : 1;
    const double packings = l.packed_b != PackedB::none && !l.is_shared ? grid.down : 1;
    slices = parts(f.k, kc), passes = parts(f.n, nc), blocks = parts(f.m, mc);
    micro_panels_a = (blocks - 1) * parts(mc, mr) + parts(f.m - (blocks - 1) * mc, mr), micro_panels_b = parts(f.n, nr);
    a = kFloatBytes * f.m * f.k * copies, b = kFloatBytes * f.k * f.n * packings;
    lines = (l.nr + 16 - std::gcd(l.nr, 16)) / double(l.nr);
    micro_panel_a = kFloatBytes * mr * kc * copies, micro_panel_b = kFloatBytes * kc * nr * packings;
    tile = kFloatBytes * mr * nr;
    block_of_a = kFloatBytes * mc * kc * copies, panel_of_b = kFloatBytes * kc * nc * packings;
    panel_of_c = kFloatBytes * f.m * nc, block_of_c = kFloatBytes * mc * nc, column_of_c = kFloatBytes * mc * nr;
    packed_a = kFloatBytes * std::min<double>(l.packed_rows * grid.down, f.m) * kc * copies;
    packed_b = l.packed_b == PackedB::none ? 0 : l.packed_b == PackedB::micro_panel ? micro_panel_b : panel_of_b;
  }
};

/// The share of a packed operand that has been evicted when the next one overwrites it: before its n-th line is
/// overwritten, n lines of the source have been read, and `between` bytes since its last use.
inline double lost_share(double cache, double packed, double between) {
  return std::clamp((2 * packed + between - cache) / packed, 0.0, 1.0);
}

/// The traffic beyond a cache shared by a grid of `sharers`, on f's rows and columns; `team` is the grid of all
/// threads. Reused from one mr to the next: the micro-panel of B, also by the packing of the next one; from one nr to
/// the next: the block of A; from one mc to the next: the panel of B, and the memory of the packed block of A; from one
/// kc to the next: C; from one nc to the next: A. Data that exist only once are reused by the next call. Data that
/// other threads have packed is always transferred.
inline double tiles_beyond(double cache, const Floats& f, const TileLoops& l, const Grid& sharers, const Grid& team) {
  const TileSizes s(f, l, sharers);
  const double a = kFloatBytes * f.m * f.k, b = kFloatBytes * f.k * f.n, c = kFloatBytes * f.m * f.n;
  const double slice_of_a = a / s.slices, slice_of_b = b / s.slices / s.passes, packed = s.packed_a + s.packed_b;
  if (f.all_bytes() + packed <= cache) return 0;
  // The reuse distance of each: itself, and the data that the inner loops access in between.
  const bool keeps_micro_panel = s.micro_panel_b + s.micro_panel_a + s.tile <= cache;
  const bool keeps_block = s.block_of_a + s.micro_panel_b + s.column_of_c <= cache;
  const bool keeps_panel = s.panel_of_b + 2 * s.block_of_a + s.block_of_c <= cache;
  const double b_between = slice_of_b + (s.packed_b > 0 ? s.packed_b : s.blocks > 1 ? slice_of_b : 0);
  const bool keeps_c = s.panel_of_c + slice_of_a + s.block_of_a + b_between <= cache;
  const bool keeps_a =
      packed + s.panel_of_c * (s.passes > 1 ? 2 - 1 / s.slices : 1) + a + b / s.passes - slice_of_b <= cache;
  const double lines = keeps_block ? 1 : s.lines;
  // The second tile reuses the part of a new micro-panel that is left after its source has been read.
  const double lost_strip = lost_share(cache, s.micro_panel_b, l.packing_is_fused ? 2 * s.micro_panel_a + s.tile : 0);

  const double reads_of_a = s.a * (keeps_block ? s.passes : s.micro_panels_b);
  double of_a = keeps_block && (keeps_a || s.slices * s.blocks == 1) ? 0 : reads_of_a;
  if (l.packed_rows > 0) {
    const bool is_transferred = l.is_shared && sharers.across < team.across;
    const double between = !l.is_shared   ? s.micro_panel_b + s.column_of_c
                           : s.blocks > 1 ? s.panel_of_b + s.block_of_c
                                          : s.micro_panel_b;
    const double lost = is_transferred ? 1 : lost_share(cache, s.packed_a, between);
    const double share = l.is_shared ? double(sharers.across) / team.across : 1;
    of_a = share * s.passes * ((keeps_a ? 0 : a) + 2 * s.a * lost);
    of_a += l.is_shared ? reads_of_a * lost : keeps_block ? 0 : reads_of_a;
  }

  const double reads_of_b = keeps_panel ? 1 : keeps_micro_panel ? s.blocks : s.micro_panels_a;
  double of_b = keeps_panel && s.slices * s.passes == 1 ? 0 : s.b * reads_of_b * lines;
  if (l.packed_b != PackedB::none) {
    const bool is_transferred = l.is_shared && sharers.down < team.down, is_one = l.packed_b == PackedB::micro_panel;
    const double between = l.is_shared ? 2 * s.packed_a + s.block_of_c / 2
                           : is_one    ? 2 * s.micro_panel_a + s.tile
                                       : s.block_of_a + s.block_of_c;
    const double lost = is_transferred ? 1 : lost_share(cache, s.packed_b, between);
    const double share = l.is_shared ? double(sharers.down) / team.down : 1;
    of_b = share * (b * lines + 2 * s.b * lost);
    of_b += s.b * (l.is_shared         ? reads_of_b * lost
                   : keeps_micro_panel ? reads_of_b - 1 + lost_strip
                                       : reads_of_b - l.packing_is_fused);
  }
  const double trips_of_c = s.slices == 1 ? 1 : !keeps_c ? s.slices : s.passes > 1 ? 1 : 0;
  return of_a + of_b + 2 * c * trips_of_c * lines;
}

/// The bytes that the code of one part requests.
inline double tiles_requested(const Floats& f, const TileLoops& l, const Grid& team) {
  const TileSizes s(f, l, {});
  double of_a = s.a * s.micro_panels_b, of_b = s.b * s.micro_panels_a;
  if (l.packed_rows > 0) of_a += 2 * s.a * s.passes / (l.is_shared ? team.across : 1);
  if (l.packed_b != PackedB::none) of_b += (l.packing_is_fused ? 1 : 2) * s.b / (l.is_shared ? team.down : 1);
  return of_a + of_b + kFloatBytes * f.m * f.n * (2 * s.slices - 1);
}

/// A product by tiles in pieces, each by one thread of `team`; loops_of(rows, columns): the loops over a piece of that
/// size. For the traffic to memory all threads run in lockstep, each on a piece, then on its next piece. If there are
/// more pieces than threads, no piece is still in a cache from the previous call. A thread with two pieces of the same
/// band may reuse A's rows.
template <typename LoopsOf>
LevelTraffic pieces_traffic(const MatmulShape& shape, const std::vector<Piece>& pieces, const Grid& team,
                            const LoopsOf& loops_of, const Caches& caches) {
  const std::size_t threads = team.down * team.across;
  const bool is_reused = pieces.size() <= threads, fits = Floats(shape).all_bytes() <= caches.l3;
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
        if (is_reused) return 0.0;
        const double a = kFloatBytes * part.m * part.k, c = kFloatBytes * part.m * part.n, b = part.all_bytes() - a - c;
        const bool keeps_a = is_same_band && a + 2 * (b + c) <= cache;  // from the thread's previous piece
        return (keeps_a ? 0 : a) + b + 2 * c;                           // C is loaded and written back
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
    all.dram += std::max(is_reused || fits ? 0 : least, tiles_beyond(caches.l3, together, loops, team, team));
  }
  return all;
}

/// The same for even pieces.
template <typename LoopsOf>
LevelTraffic tiles_traffic(const MatmulShape& shape, const Grid& grid, int row_unit, int column_unit,
                           const LoopsOf& loops_of, const Caches& caches = machine_caches()) {
  return pieces_traffic(shape, all_pieces(EvenPieces(grid, shape.m, shape.n, row_unit, column_unit)), grid, loops_of,
                        caches);
}

/// The same for dynamically scheduled pieces.
template <typename LoopsOf>
LevelTraffic tiles_traffic(const MatmulShape& shape, const GuidedPieces& pieces, const LoopsOf& loops_of,
                           const Caches& caches = machine_caches()) {
  return pieces_traffic(shape, all_pieces(pieces), pieces.grid(), loops_of, caches);
}

/// for left (`strip` columns at a time), for row, for i, for col of the strip: the traffic beyond `cache`, initially
/// empty, if `in_step` threads each take a row, in lockstep. Reused from one row to the next: the strip of B; from one
/// strip to the next: A.
inline double strips_beyond(double cache, const Floats& f, double strip, double in_step = 1) {
  if (f.m * f.n == 0) return 0;
  const double strips = std::ceil(f.n / strip), sums = kFloatBytes * std::min(strip, f.n);
  const double a = kFloatBytes * f.m * f.k, b = kLineBytes * f.k * std::ceil(kFloatBytes * f.n / kLineBytes);
  const bool keeps_strip = b / strips + in_step * (kFloatBytes * f.k + 2 * sums) <= cache;
  const bool keeps_a = a + b / strips + in_step * sums <= cache;
  const double rows = keeps_strip ? 1 : std::ceil(f.m / in_step);
  return a * (keeps_a ? 1 : strips) + b * rows + 2 * kFloatBytes * f.m * f.n;
}

/// The rows and columns that do not fill a tile, in strips: for the columns their rows, for the rows their strips are
/// divided among the threads. Sums are in memory, and are loaded and stored in each step. `tiled`: the part computed by
/// tiles; the two parts do not reuse each other's cached data.
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

/// A product of a few rows, 8 rows of B at a time, each thread on its part of the columns. From one group of 8 to the
/// next, the rows of C are reused; B is read once. Each vector of C loads the elements of A.
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

/// The traffic of two pieces of work, one after the other.
inline LevelTraffic operator+(const LevelTraffic& x, const LevelTraffic& y) {
  return {x.l1 + y.l1, x.l2 + y.l2, x.l3 + y.l3, x.dram + y.dram};
}

/// Tiles on A and B in place, row of tiles after row of tiles, divided among the threads; then the edges, `strip`
/// columns at a time.
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
