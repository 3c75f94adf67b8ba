/// Shared by the CPU's fast kernels of the box blur: vectors at any address, and the division of the image into pieces,
/// which threads process one after the other.
#pragma once

#include <omp.h>

#include <algorithm>
#include <type_traits>

#include "common/machine/cpu_info.hpp"
#include "common/problem/blur.hpp"
#include "cpu/ceilings/vector.hpp"

namespace rung {
namespace blur {

constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(float));

using AnyFloatVector __attribute__((vector_size(kVectorBytes), may_alias, aligned(alignof(float)))) = float;

inline FloatVector load(const float* from) { return *reinterpret_cast<const AnyFloatVector*>(from); }
inline void put(float* to, FloatVector value) { *reinterpret_cast<AnyFloatVector*>(to) = value; }

inline int whole_vectors(int n) { return (n + kLanes - 1) / kLanes * kLanes; }

/// Columns [begin, end) of a thread's rows [top, bottom), whose means a kernel computes. It reads R more on every side,
/// inside the image.
struct Piece {
  int top = 0, bottom = 0, begin = 0, end = 0;

  int columns() const { return end - begin; }
};

/// Floats of a line for a strip of `strip` columns, with the halo on both sides and a vector that may be read beyond.
inline int line_floats(const BlurImage& g, int strip) { return whole_vectors(strip + 2 * g.radius) + 2 * kLanes; }

/// Sets the share of each column of a piece: 1 over the number of columns in its window.
inline void fill_shares(const BlurImage& g, const Piece& piece, float* shares) {
  for (int i = 0; i < piece.columns(); ++i)
    shares[i] = 1.0f / static_cast<float>(pixels_near(piece.begin + i, g.cols, g.radius));
}

/// The part of this thread in a scratch with `floats` floats per thread.
inline float* memory_of_thread(float* scratch, std::size_t floats) { return scratch + omp_get_thread_num() * floats; }

/// For .scratch.
inline std::vector<Operand> thread_scratch(std::size_t floats) {
  return {{.name = "lines of each thread", .elements = floats * omp_get_max_threads(), .role = Role::scratch}};
}

/// Strips of columns, one below the other, make one long line of rows, and every thread has an equal part of it. So few
/// parts begin within a strip, where the R rows above are read twice. Calls use(piece, store).
template <typename Use>
void each_piece(const BlurImage& g, int strip, const Use& use) {
  const bool is_cached = 8.0 * g.rows * g.cols < static_cast<double>(cpu_info().all_l3_bytes);
  const bool is_streamed = !is_cached && kHasStreamingStores && g.cols % kLanes == 0;
  const std::int64_t rows = std::int64_t{g.rows} * ((g.cols + strip - 1) / strip);
  const auto with_store = [&](auto store) {
#pragma omp parallel
    {
      const std::int64_t thread = omp_get_thread_num(), team = omp_get_num_threads();
      std::int64_t at = rows * thread / team;
      for (const std::int64_t end = rows * (thread + 1) / team; at < end;) {
        const int top = static_cast<int>(at % g.rows), begin = static_cast<int>(at / g.rows) * strip;
        const int bottom = static_cast<int>(std::min<std::int64_t>(g.rows, top + end - at));
        use(Piece{top, bottom, begin, std::min(begin + strip, g.cols)}, store);
        at += bottom - top;
      }
      finish_stores<store>();
    }
  };
  if (is_streamed)
    with_store(std::integral_constant<Store, Store::streaming>{});
  else
    with_store(std::integral_constant<Store, Store::ordinary>{});
}

/// The means of a row of a piece: value(i) is the vector of window sums from its column i on. Streaming stores need
/// strips that are whole vectors.
template <Store kStore, typename Value>
void put_means(float* y, int columns, const float* shares, float row_share, const Value& value) {
  int i = 0;
  for (; i + kLanes <= columns; i += kLanes) {
    const FloatVector means = value(i) * (load(shares + i) * row_share);
    if constexpr (kStore == Store::streaming)
      store<kStore>(reinterpret_cast<FloatVector*>(y + i), means);
    else
      put(y + i, means);
  }
  if (i == columns) return;
  const FloatVector sums = value(i);
  for (int lane = 0; i + lane < columns; ++lane) y[i + lane] = sums[lane] * (shares[i + lane] * row_share);
}

}  // namespace blur
}  // namespace rung
