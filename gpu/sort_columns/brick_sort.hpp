/// Shared by the kernels that sort columns, which differ only in where a thread has its array.
///
/// Odd-even transposition: there is one round per key. A round puts pairs of neighbours in order: pairs that begin at
/// even places in even rounds, the other pairs in odd rounds. It compares keys^2 / 2 times for any keys, so all threads
/// do the same, and only the loops decide the place of an access: a constant once they are unrolled.
/// Source: Habermann, Parallel neighbor-sort, 1972.
#pragma once

#include "common/problem/sort_columns.hpp"
#include "gpu/simt/simt.hpp"

namespace rung {
namespace {

constexpr int kColumnThreads = 128;

/// An array of the thread: in registers if every place is a constant, else in local memory.
template <int Keys>
struct Automatic {
  reg<float> keys[Keys];
  __device__ __forceinline__ reg<float> get(int place) const { return keys[place]; }
  __device__ __forceinline__ void put(int place, reg<float> key) { keys[place] = key; }
};

/// Sorts `array`. Unrolled: how many rounds are unrolled, all or 1.
template <int Keys, int Unrolled, typename Array>
__device__ __forceinline__ void brick_sort(Array& array) {
#pragma unroll Unrolled
  for (int round = 0; round < Keys; ++round) {
#pragma unroll Unrolled
    for (int place = round % 2; place < Keys - 1; place += 2) {
      const reg<float> left = array.get(place), right = array.get(place + 1);
      array.put(place, fminf(left, right));
      array.put(place + 1, fmaxf(left, right));
    }
  }
}

/// Sorts the thread's column in `array`. The whole column is loaded before the first comparison, to constant places.
template <int Keys, int Unrolled, typename Array>
__device__ __forceinline__ void sort_column(Array& array, const mem<float>* in, mem<float>* out, std::int64_t n) {
  const std::int64_t column = std::int64_t{blockIdx.x} * kColumnThreads + threadIdx.x;
  if (column >= n) return;
#pragma unroll
  for (int row = 0; row < Keys; ++row) array.put(row, in[row * n + column]);
  brick_sort<Keys, Unrolled>(array);
#pragma unroll
  for (int row = 0; row < Keys; ++row) out[row * n + column] = array.get(row);
}

inline Launch columns_launch(const Params& p) { return {{blocks_for(p.at("n"), kColumnThreads)}, {kColumnThreads}}; }

inline Traffic columns_traffic(const Params& p) {
  const double bytes = 4.0 * static_cast<double>(p.at("n")) * static_cast<double>(p.at("keys"));
  return {.loaded = bytes, .stored = bytes};
}

/// The kernel's operands: keys, sorted keys, columns.
template <typename Kernel>
void launch_columns(const Call& call, Kernel kernel) {
  launch(call, kernel, call.operand<const mem<float>>(0), call.operand<mem<float>>(1), call.params.at("n"));
}

}  // namespace
}  // namespace rung
