#include "cpu/matmul/micro_kernel.hpp"

#include <algorithm>
#include <utility>

// Highway includes this file once for each of its targets. Only the code between HWY_BEFORE_NAMESPACE and
// HWY_AFTER_NAMESPACE may use the instructions of that target. ARM has one target, NEON: SVE's vectors have no size at
// compile time, and cannot be in arrays.
#if defined(__aarch64__)
#define HWY_COMPILE_ONLY_STATIC
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE_256 | HWY_SVE2 | HWY_SVE2_128)
#endif
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/matmul/micro_kernel.baseline.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef RUNG_MICRO_KERNEL_TARGETS
#define RUNG_MICRO_KERNEL_TARGETS
namespace rung {
namespace {

/// The tiles compiled for a target of Highway; null if the target has no row in the table of widths.
template <std::int64_t target>
constexpr const MicroKernels* kTilesOf = nullptr;

}  // namespace
}  // namespace rung
#endif

#if HWY_TARGET != HWY_SCALAR  // it lacks some of the operations
HWY_BEFORE_NAMESPACE();
namespace rung {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::CappedTag<float, 16>;
using V = hn::Vec<D>;

constexpr int kLanes = sizeof(V) / sizeof(float);

/// This target's row in the table of widths; -1 if it has none. Highway may call NEON by another name.
constexpr int kRow = simd_row_of(HWY_ARCH_ARM_A64 ? "N_NEON" : HWY_STR(HWY_NAMESPACE));

constexpr int kPrefetchSteps = 64;  // from the prefetch of C to its use: earlier, B and A would evict it from L1 again
constexpr int kHeadLines = 4;  // lines of a row of A that are prefetched; the hardware prefetcher continues from there
constexpr int kLine = 16;      // floats of a cache line

/// The first `count` lanes of a vector in memory; the others are masked: neither read nor written. x86 has masked loads
/// and stores for vectors of 256 bits and more; elsewhere Highway's would access the whole vector, so these copy.
class MaskedLanes {
 public:
#if HWY_CAP_GE256
  explicit HWY_INLINE MaskedLanes(int count) : mask_(hn::FirstN(D(), static_cast<std::size_t>(count))) {}
  HWY_INLINE V load(const float* from) const { return hn::MaskedLoad(mask_, D(), from); }
  HWY_INLINE void store(V value, float* to) const { hn::BlendedStore(value, mask_, D(), to); }

 private:
  hn::Mask<D> mask_;
#else
  explicit HWY_INLINE MaskedLanes(int count) : count_(count) {}
  HWY_INLINE V load(const float* from) const {
    float whole[kLanes] = {};
    std::copy_n(from, count_, whole);
    return hn::LoadU(D(), whole);
  }
  HWY_INLINE void store(V value, float* to) const {
    float whole[kLanes];
    hn::StoreU(value, D(), whole);
    std::copy_n(whole, count_, to);
  }

 private:
  int count_;
#endif
};

/// The rows of A of a tile: pointers to every third row and the distance between rows. With one pointer and one offset
/// per row, the compiler would run out of registers in the loop.
template <int rows>
class RowsOfA {
 public:
  HWY_INLINE RowsOfA(const float* first, std::ptrdiff_t down) : down_(down) {
#pragma GCC unroll 8
    for (int i = 0; i < kCount; ++i) third_[i] = first + 3 * i * down;
  }
  HWY_INLINE const float* operator[](int row) const { return third_[row / 3] + row % 3 * down_; }
  HWY_INLINE void advance(std::ptrdiff_t elements) {
#pragma GCC unroll 8
    for (int i = 0; i < kCount; ++i) third_[i] += elements;
  }

 private:
  static constexpr int kCount = (rows + 2) / 3;
  const float* third_[kCount];
  std::ptrdiff_t down_;
};

template <int rows, int vectors, FromB from_b, bool masked>
struct Sums {
  V sum[rows][vectors];

  HWY_INLINE Sums() {  // written out: otherwise it would not be compiled for the target
    const D d;
#pragma GCC unroll 16
    for (int i = 0; i < rows; ++i)
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) sum[i][v] = hn::Zero(d);
  }

  /// One step of k. `last`: the columns of the last vector, if it is masked.
  HWY_INLINE void step(const RowsOfA<rows>& a, const float* b, float* packed_b, MaskedLanes last) {
    const D d;
    V row[vectors];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) {
      const bool is_masked = masked && from_b != FromB::packed && v == vectors - 1;
      row[v] = is_masked ? last.load(b + v * kLanes) : hn::LoadU(d, b + v * kLanes);
      if (from_b == FromB::packing) hn::StoreU(row[v], d, packed_b + v * kLanes);
    }
#pragma GCC unroll 16
    for (int i = 0; i < rows; ++i) {
      const V element = hn::Set(d, *a[i]);
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) sum[i][v] = hn::MulAdd(element, row[v], sum[i][v]);
    }
  }

  /// Separate code for alpha = 1 and beta = 0, which saves instructions in short products.
  HWY_INLINE void store(const Tile& t, MaskedLanes last) const {
    if (t.beta != 0)
      store_as<true, true>(t, last);
    else if (t.alpha != 1)
      store_as<true, false>(t, last);
    else
      store_as<false, false>(t, last);
  }

  template <bool scales, bool adds>
  HWY_INLINE void store_as(const Tile& t, MaskedLanes last) const {
    const D d;
    const V alpha = hn::Set(d, t.alpha), beta = hn::Set(d, t.beta);
    float* row = t.c;
    const std::ptrdiff_t ldc = t.ldc;  // a copy, since t could alias C and be reloaded after each store
#pragma GCC unroll 16
    for (int i = 0; i < rows; ++i, row += ldc)
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) {
        const bool is_masked = masked && v == vectors - 1;
        float* c = row + v * kLanes;
        V result = sum[i][v];
        if (scales) result = hn::Mul(alpha, result);
        if (adds) result = hn::MulAdd(beta, is_masked ? last.load(c) : hn::LoadU(d, c), result);
        if (is_masked)
          last.store(result, c);
        else
          hn::StoreU(result, d, c);
      }
  }
};

template <int rows, int lines>
HWY_INLINE void prefetch_c(const Tile& t) {
#pragma GCC unroll 16
  for (int i = 0; i < rows; ++i) {
    __builtin_prefetch(t.c + i * t.ldc, 1);
    for (int line = 1; line <= lines; ++line) __builtin_prefetch(t.c + i * t.ldc + line * kLine - 1, 1);
  }
}

/// Prefetches the beginning of the rows of A below the tile's rows.
template <int rows>
HWY_INLINE void prefetch_rows(const Tile& t) {
  for (int i = rows; i < 2 * rows; ++i)
#pragma GCC unroll 4
    for (int line = 0; line < kHeadLines; ++line) __builtin_prefetch(t.a + i * t.lda + line * kLine);
}

template <int rows, int vectors, FromB from_b, bool masked, bool a_is_packed>
HWY_INLINE void run_tile_on(const Tile& t) {
  const MaskedLanes last(t.columns - (vectors - 1) * kLanes);
  constexpr int kColumns = vectors * kLanes, kLines = (kColumns + kLine - 1) / kLine;
  const std::ptrdiff_t ldb = from_b == FromB::packed ? kColumns : t.ldb;
  const float *b = t.b, *next_b = t.next_b;
  float* packed_b = t.packed_b;
  Sums<rows, vectors, from_b, masked> sums;
  RowsOfA<rows> a(t.a, a_is_packed ? 1 : t.lda);
  const auto steps = [&](int count) HWY_ATTR {
#pragma GCC unroll 4
    for (int p = 0; p < count; ++p) {
      sums.step(a, b, packed_b, last);
      a.advance(a_is_packed ? rows : 1);
      b += ldb;
      if (from_b == FromB::packing) packed_b += kColumns;
    }
  };
  // By the last element of each line: a row may begin in a line that the previous micro-panel has already loaded.
  const auto prefetch_next_b = [&] {
    for (int line = 1; line <= kLines; ++line) __builtin_prefetch(next_b + line * kLine - 1, 0, 2);
    next_b += t.next_stride;
  };
  const int final_steps = std::min(t.k, kPrefetchSteps);
  if (int left = t.k - final_steps; left > 0) {
    // One row every few steps: all at once would fill the miss queue, in which the tile's own lines wait.
    const int between = t.next_count > 0 ? left / t.next_count / 4 * 4 : 0;
    for (int i = 0; i <= t.next_count; ++i) {
      if (i < t.next_count) prefetch_next_b();
      const int count = i < t.next_count ? between : left;
      steps(count);
      left -= count;
    }
    prefetch_c<rows, kLines>(t);
  } else {
    for (int i = 0; i < t.next_count; ++i) prefetch_next_b();
  }
  if (t.next_rows) prefetch_rows<rows>(t);
  steps(final_steps);
  sums.store(t, last);
}

/// Separate code for a packed A, whose strides are constants.
template <int rows, int vectors, FromB from_b, bool masked>
void run_tile(const Tile& t) {
  if (t.a_is_packed)
    run_tile_on<rows, vectors, from_b, masked, true>(t);
  else
    run_tile_on<rows, vectors, from_b, masked, false>(t);
}

/// c = beta c + alpha a B on `rows` rows, kSteps rows of B at a time, along whole rows: B is read once, in order, in
/// kSteps streams, which the hardware prefetchers can follow.
template <int rows>
void stream_rows(const Matmul<float>& it) {
  const D d;
  constexpr int kSteps = 8;
  const int whole = it.n / kLanes * kLanes;
  const MaskedLanes last(it.n - whole);
  for (int first = 0; first < it.k; first += kSteps) {
    const int steps = std::min(kSteps, it.k - first);
    const float beta = first == 0 ? it.beta : 1;
    float factor[rows][kSteps] = {};
    const float* row[kSteps];
    for (int p = 0; p < kSteps; ++p) row[p] = it.b + (first + std::min(p, steps - 1)) * it.ldb;
    for (int i = 0; i < rows; ++i)
      for (int p = 0; p < steps; ++p) factor[i][p] = it.a[i * it.lda + first + p];
    const auto columns = [&](int col, bool masked) HWY_ATTR {
      V sum[rows];
#pragma GCC unroll 4
      for (int i = 0; i < rows; ++i) sum[i] = hn::Zero(d);
      const auto add = [&](int p) HWY_ATTR {
        const V b = masked ? last.load(row[p] + col) : hn::LoadU(d, row[p] + col);
#pragma GCC unroll 4
        for (int i = 0; i < rows; ++i) sum[i] = hn::MulAdd(hn::Set(d, factor[i][p]), b, sum[i]);
      };
      if (steps == kSteps) {
#pragma GCC unroll 8
        for (int p = 0; p < kSteps; ++p) add(p);
      } else {
        for (int p = 0; p < steps; ++p) add(p);
      }
#pragma GCC unroll 4
      for (int i = 0; i < rows; ++i) {
        float* c = it.c + i * it.ldc + col;
        V result = hn::Mul(hn::Set(d, it.alpha), sum[i]);
        if (beta != 0) result = hn::MulAdd(hn::Set(d, beta), masked ? last.load(c) : hn::LoadU(d, c), result);
        if (masked)
          last.store(result, c);
        else
          hn::StoreU(result, d, c);
      }
    };
    for (int col = 0; col < whole; col += kLanes) columns(col, false);
    if (whole < it.n) columns(whole, true);
  }
}

/// Transposes a cache line of each of `height` rows (4, 2 or 1), `ld` floats apart, to columns that are `rows` floats
/// apart: in registers, four steps at a time.
template <int height, int rows>
HWY_INLINE void pack_lines(const float* from, std::ptrdiff_t ld, float* to) {
  const hn::FixedTag<float, 4> d4;
  const hn::FixedTag<float, 2> d2;
  for (int p = 0; p < kLine; p += 4, from += 4, to += 4 * rows) {
    if constexpr (height == 1) {
      for (int q = 0; q < 4; ++q) to[q * rows] = from[q];
      continue;
    }
    const auto a = hn::LoadU(d4, from), b = hn::LoadU(d4, from + (height > 1) * ld);
    const auto ab = hn::InterleaveLower(d4, a, b), later_ab = hn::InterleaveUpper(d4, a, b);  // a0 b0 a1 b1, a2 b2 …
    if constexpr (height == 2) {
      hn::StoreU(hn::LowerHalf(d2, ab), d2, to);
      hn::StoreU(hn::UpperHalf(d2, ab), d2, to + rows);
      hn::StoreU(hn::LowerHalf(d2, later_ab), d2, to + 2 * rows);
      hn::StoreU(hn::UpperHalf(d2, later_ab), d2, to + 3 * rows);
    } else if constexpr (height == 4) {
      const auto c = hn::LoadU(d4, from + 2 * ld), d = hn::LoadU(d4, from + 3 * ld);
      const auto cd = hn::InterleaveLower(d4, c, d), later_cd = hn::InterleaveUpper(d4, c, d);
      hn::StoreU(hn::ConcatLowerLower(d4, cd, ab), d4, to);
      hn::StoreU(hn::ConcatUpperUpper(d4, cd, ab), d4, to + rows);
      hn::StoreU(hn::ConcatLowerLower(d4, later_cd, later_ab), d4, to + 2 * rows);
      hn::StoreU(hn::ConcatUpperUpper(d4, later_cd, later_ab), d4, to + 3 * rows);
    }
  }
}

/// Packs `height` rows of A, at most `rows`, with separate code for each height. Whole cache lines of a few rows at a
/// time: rows a power of two apart map to the same sets of the cache, which need not hold all of them.
template <int rows>
void pack_a(const float* from, std::ptrdiff_t from_ld, int height, int count, float* to) {
  if constexpr (rows > 1) {
    if (height < rows) return pack_a<rows - 1>(from, from_ld, height, count, to);
  }
  constexpr int kByFour = rows / 4 * 4, kByTwo = rows / 2 * 2;
  const float* below = from + rows * from_ld;
  int p = 0;
  for (; p + kLine <= count; p += kLine, to += kLine * rows) {
    for (int i = 0; i < rows; ++i) __builtin_prefetch(below + i * from_ld + p);
    for (int i = 0; i < kByFour; i += 4) pack_lines<4, rows>(from + i * from_ld + p, from_ld, to + i);
    if constexpr (kByTwo > kByFour) pack_lines<2, rows>(from + kByFour * from_ld + p, from_ld, to + kByFour);
    if constexpr (rows > kByTwo) pack_lines<1, rows>(from + kByTwo * from_ld + p, from_ld, to + kByTwo);
  }
  for (; p < count; ++p, to += rows)
    for (int i = 0; i < rows; ++i) to[i] = from[i * from_ld + p];
}

template <FromB from, int rows, int vectors>
constexpr void add_rows(MicroKernels& all) {
  auto& tiles = all.tiles[static_cast<int>(from)][rows - 1][vectors - 1];
  tiles[false] = run_tile<rows, vectors, from, false>;
  tiles[true] = run_tile<rows, vectors, from, true>;
  if constexpr (vectors > 1) add_rows<from, rows, vectors - 1>(all);
}

template <FromB from, int vectors, int... less>
constexpr void add_from(MicroKernels& all, std::integer_sequence<int, less...>) {
  (add_rows<from, less + 1, vectors>(all), ...);
}

template <int rows, int vectors, FromB... from>
constexpr MicroKernels all_tiles() {
  MicroKernels all{.bits = kLanes * 32, .lanes = kLanes, .rows = rows, .vectors = vectors};
  (add_from<from, vectors>(all, std::make_integer_sequence<int, rows>()), ...);
  all.pack_a = pack_a<rows>;
  all.stream[0] = stream_rows<1>;
  all.stream[1] = stream_rows<2>;
  all.stream[2] = stream_rows<3>;
  all.stream[3] = stream_rows<4>;
  return all;
}

// Constants: code that filled them in at the start of the program would use instructions that the CPU may lack.
// Templates, so that nothing is compiled for a target without a row.
template <TileShape tile>
constexpr MicroKernels kWideTiles = all_tiles<tile.rows, tile.vectors, FromB::matrix>();

template <int row>
constexpr MicroKernels kTiles = [] {
  constexpr SimdWidth width = kSimdWidths[row];
  auto all = all_tiles<width.tile.rows, width.tile.vectors, FromB::matrix, FromB::packed, FromB::packing>();
  if constexpr (width.wide_tile.rows > 0) all.wide = &kWideTiles<width.wide_tile>;
  return all;
}();

template <int row>
constexpr const MicroKernels* tiles_of_row() {
  if constexpr (row >= 0)
    return &kTiles<row>;
  else
    return nullptr;
}

}  // namespace
}  // namespace HWY_NAMESPACE

namespace {
template <>
constexpr const MicroKernels* kTilesOf<HWY_TARGET> = HWY_NAMESPACE::tiles_of_row<HWY_NAMESPACE::kRow>();
}  // namespace

}  // namespace rung
HWY_AFTER_NAMESPACE();
#endif

#if HWY_ONCE
#include "common/machine/cpu_info.hpp"

namespace rung {
namespace {

/// The tiles that this CPU can run. The bits of Highway's targets are ordered: the first one has the widest vectors.
template <int... bits>
std::vector<const MicroKernels*> usable(std::integer_sequence<int, bits...>) {
  std::vector<const MicroKernels*> all;
  const std::int64_t supported = hwy::SupportedTargets() | HWY_STATIC_TARGET;
  const auto add = [&](const MicroKernels* tiles, std::int64_t target) {
    if (tiles && (supported & target)) all.push_back(tiles);
  };
  (add(kTilesOf<std::int64_t{1} << bits>, std::int64_t{1} << bits), ...);
  return all;
}

const MicroKernels* tiles_of(std::int64_t bits) {
  static const std::vector<const MicroKernels*> all = usable(std::make_integer_sequence<int, 63>());
  for (const MicroKernels* tiles : all)
    if (tiles->bits == bits) return tiles;
  return nullptr;
}

}  // namespace

const MicroKernels& micro_kernels(std::int64_t bits) {
  if (const MicroKernels* tiles = tiles_of(bits)) return *tiles;
  throw Error(refuse_simd({{"simd", bits}}));
}

Tunable simd_tunable() {
  const std::vector<std::int64_t> all = simd_bits();
  return {.name = "simd", .values = {all.begin(), all.end()}, .preferred = [all] {
            const auto widest = std::find_if(all.begin(), all.end(), tiles_of);
            return widest == all.end() ? all.back() : *widest;
          }};
}

std::string refuse_simd(const Params& params) {
  const std::int64_t bits = params.at("simd");
  return tiles_of(bits) ? "" : "no vectors of " + std::to_string(bits) + " bits: this CPU has " + cpu_info().simd;
}

}  // namespace rung
#endif
