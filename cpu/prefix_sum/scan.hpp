/// Shared by the CPU's kernels: the sum and the scan of a range with the widest vectors, and the scan of an array by
/// several threads.
#pragma once

#include <omp.h>

#include <algorithm>
#include <type_traits>
#include <utility>

#include "common/registry.hpp"
#include "cpu/vector_sum.hpp"

namespace rung {

constexpr int kWidth = kVectorBytes / sizeof(float);  // elements of a vector
constexpr std::int64_t kGranule = 64;                 // elements: ranges begin at multiples of four whole lines

/// The lanes moved up by `Distance` places, zeros first.
template <int Distance, std::size_t... Lane>
inline FloatVector moved_up(FloatVector v, std::index_sequence<Lane...>) {
  // Lanes from kWidth on are the second vector's.
  constexpr auto from = [](int lane) { return lane < Distance ? lane : kWidth + lane - Distance; };
  return __builtin_shufflevector(FloatVector{}, v, from(Lane)...);
}

/// In each lane, the sum over the lanes up to it.
template <int Distance = 1>
inline FloatVector scanned(FloatVector v) {
  if constexpr (Distance < kWidth)
    return scanned<2 * Distance>(v + moved_up<Distance>(v, std::make_index_sequence<kWidth>()));
  else
    return v;
}

template <std::size_t... Lane>
inline FloatVector last_lane(FloatVector v, std::index_sequence<Lane...>) {
  return __builtin_shufflevector(v, v, (static_cast<void>(Lane), kWidth - 1)...);
}

/// Scans [begin, end), begin a multiple of kGranule, with `sum` before it. Only one addition and one exchange of lanes
/// per vector wait for the previous vector.
template <Store kStore = Store::ordinary>
inline void scan_range(const float* x, float* y, std::int64_t begin, std::int64_t end, float sum) {
  FloatVector before = FloatVector{} + sum;
  std::int64_t i = begin;
  for (; i + kGranule <= end; i += kGranule)
#pragma GCC unroll 16
    for (std::int64_t j = i; j < i + kGranule; j += kWidth) {
      const FloatVector up_to = before + scanned(*reinterpret_cast<const FloatVector*>(x + j));
      store<kStore>(reinterpret_cast<FloatVector*>(y + j), up_to);
      before = last_lane(up_to, std::make_index_sequence<kWidth>());
    }
  for (sum = before[0]; i < end; ++i) y[i] = sum += x[i];
  finish_stores<kStore>();
}

/// The sum of [begin, end), begin a multiple of kGranule.
inline float sum_range(const float* x, std::int64_t begin, std::int64_t end) {
  return vector_sum<kGranule / kWidth>(x, begin, end);
}

constexpr std::int64_t kKiB = 1024;
constexpr const char* kStreaming = "streaming";

/// For .tunables: whether stores of y bypass the caches. Where the arrays fit into a cache, that is slower.
inline Tunable kinds_of_store() {
  return {"stores", kHasStreamingStores ? words({kStreaming, "ordinary"}) : words({"ordinary"})};
}

/// Calls run(store) with the kind of store as a constant.
template <typename Run>
void with_store(const Params& p, const Run& run) {
  if (p.value("stores").word == kStreaming)
    run(std::integral_constant<Store, Store::streaming>());
  else
    run(std::integral_constant<Store, Store::ordinary>());
}

/// Scratch for scan_together(): two sums per thread, each on a separate line.
constexpr std::int64_t kLine = 16;
inline std::vector<Operand> sums_of_threads(const Params&) {
  const auto threads = static_cast<std::size_t>(omp_get_max_threads());
  return {{.name = "sums", .elements = 2 * kLine * threads, .role = Role::scratch}};
}

/// Elements of a thread's part, if all parts are equal.
inline std::int64_t share_of_thread(std::int64_t n) {
  const std::int64_t granules = (n + kGranule - 1) / kGranule, threads = omp_get_max_threads();
  return (granules + threads - 1) / threads * kGranule;
}

/// Elements of a thread's piece: the tunable "kib", or the thread's share of the array if that is less; at least one
/// granule.
inline std::int64_t piece_of_thread(const Params& p) {
  return std::min<std::int64_t>(p.at("kib") * kKiB / sizeof(float), std::max(share_of_thread(p.at("n")), kGranule));
}

/// Goes over the array in stretches of one piece per thread: all threads sum their pieces, wait for each other, and
/// scan their pieces with the sum before. Two sets of sums alternate, so that one barrier per stretch is enough.
template <Store kStore = Store::ordinary>
void scan_together(const Call& call, std::int64_t piece) {
  const auto* x = call.operand<const float>(0);
  auto *y = call.operand<float>(1), *sums = call.operand<float>(2);
  const std::int64_t n = call.params.at("n");
#pragma omp parallel
  {
    const std::int64_t thread = omp_get_thread_num(), team = omp_get_num_threads();
    float before_stretch = 0;
    float* own = sums;
    float* other = sums + kLine * team;
    for (std::int64_t first = 0; first < n; first += team * piece, std::swap(own, other)) {
      const std::int64_t begin = std::min(first + thread * piece, n), end = std::min(begin + piece, n);
      own[kLine * thread] = sum_range(x, begin, end);
#pragma omp barrier
      float before = before_stretch;
      for (std::int64_t t = 0; t < team; ++t) {
        if (t == thread) before = before_stretch;
        before_stretch += own[kLine * t];
      }
      scan_range<kStore>(x, y, begin, end, before);
    }
  }
}

}  // namespace rung
