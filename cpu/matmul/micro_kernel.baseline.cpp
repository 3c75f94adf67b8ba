#include "cpu/matmul/micro_kernel.hpp"

#include <algorithm>
#include <utility>

// Compiled once for each target that the instruction set has; what is between BEFORE and AFTER uses that target's
// instructions, and nothing else here may. ARM has one, NEON: vectors of SVE have no size that the compiler knows, and
// there are no arrays of them.
#if defined(__aarch64__)
#define HWY_COMPILE_ONLY_STATIC
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE_256 | HWY_SVE2 | HWY_SVE2_128)
#endif
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/matmul/micro_kernel.baseline.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

// One target a width: AVX-512, AVX2, and 128 bits by SSE4 or NEON, with or without AES. Highway's further ones add
// nothing to a product.
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_SSE4 || HWY_ARCH_ARM_A64
HWY_BEFORE_NAMESPACE();
namespace rung {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::CappedTag<float, 16>;
using V = hn::Vec<D>;

constexpr int kLanes = sizeof(V) / sizeof(float);
#if HWY_TARGET == HWY_AVX3  // 28 sums, 2 vectors of B and one element of A, of 32 registers; wide: 24, 4, 1
constexpr int kRows = 14, kVectors = 2, kWideRows = 6, kWideVectors = 4;
#elif HWY_ARCH_ARM_A64  // 24 + 3 + 1 of 32
constexpr int kRows = 8, kVectors = 3;
#else                   // 12 + 2 + 1 of 16
constexpr int kRows = 6, kVectors = 2;
#endif

// Rows of C are asked for so many steps before the end: earlier, B and A would have driven them out of L1 again.
constexpr int kStepsAhead = 64;
constexpr int kHeadLines = 4;  // of a row of A; from there the hardware's prefetcher has seen where it goes
constexpr int kLine = 16;      // floats of a cache line

/// The first so many lanes of a vector in memory: what lies behind them is neither read nor written. AVX2 and AVX-512
/// have masks for it; on narrower targets Highway's masked operations touch the whole vector, so these copy.
class FirstLanes {
 public:
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
  explicit HWY_INLINE FirstLanes(int count) : mask_(hn::FirstN(D(), static_cast<std::size_t>(count))) {}
  HWY_INLINE V load(const float* from) const { return hn::MaskedLoad(mask_, D(), from); }
  HWY_INLINE void store(V value, float* to) const { hn::BlendedStore(value, mask_, D(), to); }

 private:
  hn::Mask<D> mask_;
#else
  explicit HWY_INLINE FirstLanes(int count) : count_(count) {}
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

/// Where a tile's rows of A are: pointers to every third one, which few registers hold, and the distance to the next.
/// By one pointer and as many distances as rows, the compiler runs out of registers in the loop (some percent of a
/// small product on AVX-512).
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

template <int rows, int vectors, FromB from_b, bool in_part>
struct Sums {
  V sum[rows][vectors];

  HWY_INLINE Sums() {  // written out, or it would not be compiled for the target
    const D d;
#pragma GCC unroll 16
    for (int i = 0; i < rows; ++i)
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) sum[i][v] = hn::Zero(d);
  }

  /// One step of k. `last` has the last vector's columns.
  HWY_INLINE void step(const RowsOfA<rows>& a, const float* b, float* sliver, FirstLanes last) {
    const D d;
    V row[vectors];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) {
      const bool masked = in_part && from_b != FromB::sliver && v == vectors - 1;
      row[v] = masked ? last.load(b + v * kLanes) : hn::LoadU(d, b + v * kLanes);
      if (from_b == FromB::packing) hn::StoreU(row[v], d, sliver + v * kLanes);
    }
#pragma GCC unroll 16
    for (int i = 0; i < rows; ++i) {
      const V element = hn::Set(d, *a[i]);
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) sum[i][v] = hn::MulAdd(element, row[v], sum[i][v]);
    }
  }

  /// What alpha and beta do not ask for is left out, which saves a short product some instructions of each tile.
  HWY_INLINE void store(const Tile& t, FirstLanes last) const {
    if (t.beta != 0)
      store_as<true, true>(t, last);
    else if (t.alpha != 1)
      store_as<true, false>(t, last);
    else
      store_as<false, false>(t, last);
  }

  template <bool scales, bool adds>
  HWY_INLINE void store_as(const Tile& t, FirstLanes last) const {
    const D d;
    const V alpha = hn::Set(d, t.alpha), beta = hn::Set(d, t.beta);
    float* row = t.c;
    const std::ptrdiff_t ldc = t.ldc;  // or it would be loaded again after each store, which might have changed it
#pragma GCC unroll 16
    for (int i = 0; i < rows; ++i, row += ldc)
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) {
        const bool masked = in_part && v == vectors - 1;
        float* c = row + v * kLanes;
        V result = sum[i][v];
        if (scales) result = hn::Mul(alpha, result);
        if (adds) result = hn::MulAdd(beta, masked ? last.load(c) : hn::LoadU(d, c), result);
        if (masked)
          last.store(result, c);
        else
          hn::StoreU(result, d, c);
      }
  }
};

template <int rows, int lines>
HWY_INLINE void ask_for_c(const Tile& t) {
#pragma GCC unroll 16
  for (int i = 0; i < rows; ++i) {
    __builtin_prefetch(t.c + i * t.ldc, 1);
    for (int line = 1; line <= lines; ++line) __builtin_prefetch(t.c + i * t.ldc + line * kLine - 1, 1);
  }
}

/// The heads of the rows of A below the tile's.
template <int rows>
HWY_INLINE void ask_for_rows(const Tile& t) {
  for (int i = rows; i < 2 * rows; ++i)
#pragma GCC unroll 4
    for (int line = 0; line < kHeadLines; ++line) __builtin_prefetch(t.a + i * t.lda + line * kLine);
}

template <int rows, int vectors, FromB from_b, bool in_part, bool a_is_panel>
HWY_INLINE void run_tile_on(const Tile& t) {
  const FirstLanes last(t.columns - (vectors - 1) * kLanes);
  constexpr int kSliver = vectors * kLanes, kLines = (kSliver + kLine - 1) / kLine;
  const std::ptrdiff_t ldb = from_b == FromB::sliver ? kSliver : t.ldb;
  const float *b = t.b, *next_b = t.next_b;
  float* sliver = t.sliver;
  Sums<rows, vectors, from_b, in_part> sums;
  RowsOfA<rows> a(t.a, a_is_panel ? 1 : t.lda);
  const auto steps = [&](int count) HWY_ATTR {
#pragma GCC unroll 4
    for (int p = 0; p < count; ++p) {
      sums.step(a, b, sliver, last);
      a.advance(a_is_panel ? rows : 1);
      b += ldb;
      if (from_b == FromB::packing) sliver += kSliver;
    }
  };
  // By the last element of each line: rows at any address begin in a line that the sliver before has brought.
  const auto ask_for_next_b = [&] {
    for (int line = 1; line <= kLines; ++line) __builtin_prefetch(next_b + line * kLine - 1, 0, 2);
    next_b += t.next_stride;
  };
  const int final_steps = std::min(t.k, kStepsAhead);
  if (int left = t.k - final_steps; left > 0) {
    // A row every few steps: all at once, they would fill the queue in which the tile's own lines wait.
    const int between = t.next_count > 0 ? left / t.next_count / 4 * 4 : 0;
    for (int i = 0; i <= t.next_count; ++i) {
      if (i < t.next_count) ask_for_next_b();
      const int count = i < t.next_count ? between : left;
      steps(count);
      left -= count;
    }
    ask_for_c<rows, kLines>(t);
  } else {
    for (int i = 0; i < t.next_count; ++i) ask_for_next_b();
  }
  if (t.next_rows) ask_for_rows<rows>(t);
  steps(final_steps);
  sums.store(t, last);
}

/// Code of its own for a panel, whose elements lie at distances that the compiler knows.
template <int rows, int vectors, FromB from_b, bool in_part>
void run_tile(const Tile& t) {
  if (t.a_is_panel)
    run_tile_on<rows, vectors, from_b, in_part, true>(t);
  else
    run_tile_on<rows, vectors, from_b, in_part, false>(t);
}

/// c = beta c + alpha a B on `rows` rows, kSteps rows of B at a time, along whole rows: B is read once, in order, as
/// many streams as the prefetchers follow.
template <int rows>
void stream_rows(const Matmul<float>& it) {
  const D d;
  constexpr int kSteps = 8;
  const int whole = it.n / kLanes * kLanes;
  const FirstLanes last(it.n - whole);
  for (int first = 0; first < it.k; first += kSteps) {
    const int steps = std::min(kSteps, it.k - first);
    const float beta = first == 0 ? it.beta : 1;
    float factor[rows][kSteps] = {};
    const float* row[kSteps];
    for (int p = 0; p < kSteps; ++p) row[p] = it.b + (first + std::min(p, steps - 1)) * it.ldb;
    for (int i = 0; i < rows; ++i)
      for (int p = 0; p < steps; ++p) factor[i][p] = it.a[i * it.lda + first + p];
    const auto columns = [&](int col, bool in_part) HWY_ATTR {
      V sum[rows];
#pragma GCC unroll 4
      for (int i = 0; i < rows; ++i) sum[i] = hn::Zero(d);
      const auto add = [&](int p) HWY_ATTR {
        const V b = in_part ? last.load(row[p] + col) : hn::LoadU(d, row[p] + col);
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
        if (beta != 0) result = hn::MulAdd(hn::Set(d, beta), in_part ? last.load(c) : hn::LoadU(d, c), result);
        if (in_part)
          last.store(result, c);
        else
          hn::StoreU(result, d, c);
      }
    };
    for (int col = 0; col < whole; col += kLanes) columns(col, false);
    if (whole < it.n) columns(whole, true);
  }
}

/// A line of each of `high` rows (4, 2 or 1), `ld` floats apart, as columns that lie `rows` floats apart: four steps at
/// a time are transposed in registers.
template <int high, int rows>
HWY_INLINE void pack_lines(const float* from, std::ptrdiff_t ld, float* to) {
  const hn::FixedTag<float, 4> d4;
  const hn::FixedTag<float, 2> d2;
  for (int p = 0; p < kLine; p += 4, from += 4, to += 4 * rows) {
    if constexpr (high == 1) {
      for (int q = 0; q < 4; ++q) to[q * rows] = from[q];
      continue;
    }
    const auto a = hn::LoadU(d4, from), b = hn::LoadU(d4, from + (high > 1) * ld);
    const auto ab = hn::InterleaveLower(d4, a, b), later_ab = hn::InterleaveUpper(d4, a, b);  // a0 b0 a1 b1, a2 b2 …
    if constexpr (high == 2) {
      hn::StoreU(hn::LowerHalf(d2, ab), d2, to);
      hn::StoreU(hn::UpperHalf(d2, ab), d2, to + rows);
      hn::StoreU(hn::LowerHalf(d2, later_ab), d2, to + 2 * rows);
      hn::StoreU(hn::UpperHalf(d2, later_ab), d2, to + 3 * rows);
    } else if constexpr (high == 4) {
      const auto c = hn::LoadU(d4, from + 2 * ld), d = hn::LoadU(d4, from + 3 * ld);
      const auto cd = hn::InterleaveLower(d4, c, d), later_cd = hn::InterleaveUpper(d4, c, d);
      hn::StoreU(hn::ConcatLowerLower(d4, cd, ab), d4, to);
      hn::StoreU(hn::ConcatUpperUpper(d4, cd, ab), d4, to + rows);
      hn::StoreU(hn::ConcatLowerLower(d4, later_cd, later_ab), d4, to + 2 * rows);
      hn::StoreU(hn::ConcatUpperUpper(d4, later_cd, later_ab), d4, to + 3 * rows);
    }
  }
}

/// Packs `high` rows of A, at most `rows`: for each number of them code of its own. Whole lines of a few rows, then
/// those of the next: rows a power of two apart fall into the same sets of the cache, which need not hold all of them.
template <int rows>
void pack_panel(const float* from, std::ptrdiff_t from_ld, int high, int count, float* to) {
  if constexpr (rows > 1) {
    if (high < rows) return pack_panel<rows - 1>(from, from_ld, high, count, to);
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
  all.pack_panel = pack_panel<rows>;
  all.stream[0] = stream_rows<1>;
  all.stream[1] = stream_rows<2>;
  all.stream[2] = stream_rows<3>;
  all.stream[3] = stream_rows<4>;
  return all;
}

// Constants, and not filled in when the program starts: that code would use instructions that the CPU may lack.
#if HWY_TARGET == HWY_AVX3
constexpr MicroKernels kWideTiles = all_tiles<kWideRows, kWideVectors, FromB::matrix>();
#endif
constexpr MicroKernels kTiles = [] {
  auto all = all_tiles<kRows, kVectors, FromB::matrix, FromB::sliver, FromB::packing>();
#if HWY_TARGET == HWY_AVX3
  all.wide = &kWideTiles;
#endif
  return all;
}();

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace rung
HWY_AFTER_NAMESPACE();
#endif

#if HWY_ONCE
#include "common/machine/cpu_info.hpp"

namespace rung {
namespace {

/// The tiles that this CPU can run, the widest first.
std::vector<const MicroKernels*> usable() {
  std::vector<const MicroKernels*> all;
  [[maybe_unused]] const auto supported = hwy::SupportedTargets();
#if HWY_TARGETS & HWY_AVX3
  if (supported & HWY_AVX3) all.push_back(&N_AVX3::kTiles);
#endif
#if HWY_TARGETS & HWY_AVX2
  if (supported & HWY_AVX2) all.push_back(&N_AVX2::kTiles);
#endif
#if HWY_TARGETS & HWY_SSE4
  if (supported & HWY_SSE4) all.push_back(&N_SSE4::kTiles);
#endif
#if HWY_ARCH_ARM_A64  // whatever compiled this for the CPU knows that it has NEON
  all.push_back(&HWY_STATIC_DISPATCH(kTiles));
#endif
  return all;
}

const MicroKernels* tiles_of(std::int64_t bits) {
  static const std::vector<const MicroKernels*> all = usable();
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
  return {.name = "simd", .values = {512, 256, 128}, .preferred = [] {
            for (const std::int64_t bits : {512, 256})
              if (tiles_of(bits)) return bits;
            return std::int64_t{128};
          }};
}

std::string refuse_simd(const Params& params) {
  const std::int64_t bits = params.at("simd");
  return tiles_of(bits) ? "" : "no vectors of " + std::to_string(bits) + " bits: this CPU has " + cpu_info().simd;
}

}  // namespace rung
#endif
