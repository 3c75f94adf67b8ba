/// Shared by the kernels that scan with warp shuffles. A block has a tile of the array, each of its warps a contiguous
/// part of the tile in rows of 128 elements, and each lane four neighbouring elements of every row. So each access has
/// 16 bytes, contiguous across the lanes; all rows are loaded before the first is added; and no element passes through
/// shared memory.
#pragma once

#include "gpu/simt/simt.hpp"

namespace rung {

constexpr unsigned kAllLanes = 0xffffffffu;
constexpr int kRow = 128;  // elements: four for each lane

/// The block sizes, and the elements per thread, that the kernels are compiled for.
using TileThreads = Choices<512, 256, 128>;
using TileItems = Choices<16, 8, 24, 32>;

__device__ __forceinline__ int lane_index() { return threadIdx.x % 32; }
__device__ __forceinline__ int warp_index() { return threadIdx.x / 32; }

/// The sum over the lanes up to this one.
__device__ __forceinline__ reg<float> warp_scan(reg<float> sum) {
  for (int distance = 1; distance < 32; distance *= 2) {
    const reg<float> left = __shfl_up_sync(kAllLanes, sum, distance);
    if (lane_index() >= distance) sum += left;
  }
  return sum;
}

/// The sum over all lanes, in each of them.
__device__ __forceinline__ reg<float> warp_total(reg<float> sum) {
  for (int bit = 16; bit > 0; bit /= 2) sum += __shfl_xor_sync(kAllLanes, sum, bit);
  return sum;
}

/// A lane's elements of its warp's part.
template <int Rows>
struct Part {
  float4 rows[Rows];
  reg<float> before[Rows];  ///< after scan(): the sum of the warp's part to the left of the lane's elements

  /// `first`: index of the part's first element. Elements beyond n are 0.
  __device__ __forceinline__ void load(const mem<float>* x, int first, int n) {
    const int own = first + 4 * lane_index();
    if (first + Rows * kRow <= n) {
      for (int row = 0; row < Rows; ++row) rows[row] = vector_cast<float4>(x)[own / 4 + row * (kRow / 4)];
    } else {
      for (int row = 0; row < Rows; ++row) {
        const int i = own + row * kRow;
        const reg<float> a = i < n ? x[i] : 0.0f, b = i + 1 < n ? x[i + 1] : 0.0f;
        const reg<float> c = i + 2 < n ? x[i + 2] : 0.0f, d = i + 3 < n ? x[i + 3] : 0.0f;
        rows[row] = make_float4(a, b, c, d);
      }
    }
  }

  /// The sum of the warp's part, in each lane.
  __device__ __forceinline__ reg<float> total() const {
    reg<float> sum = 0;
    for (int row = 0; row < Rows; ++row) sum += (rows[row].x + rows[row].y) + (rows[row].z + rows[row].w);
    return warp_total(sum);
  }

  /// Scans each lane's four elements of a row, then the lanes, row by row. Returns the sum of the warp's part.
  __device__ __forceinline__ reg<float> scan() {
    reg<float> above = 0;  // the rows before
    for (int row = 0; row < Rows; ++row) {
      float4& v = rows[row];
      v.y += v.x;
      v.z += v.y;
      v.w += v.z;
      const reg<float> sum = warp_scan(v.w);
      const reg<float> left = __shfl_up_sync(kAllLanes, sum, 1);
      before[row] = lane_index() == 0 ? above : above + left;
      above += __shfl_sync(kAllLanes, sum, 31);
    }
    return above;
  }

  /// Stores the scanned elements. `base`: the sum of everything before the warp's part.
  __device__ __forceinline__ void store(mem<float>* y, int first, int n, reg<float> base) const {
    const int own = first + 4 * lane_index();
    for (int row = 0; row < Rows; ++row) {
      const float4& v = rows[row];
      const reg<float> sum = base + before[row];
      const int i = own + row * kRow;
      if (first + Rows * kRow <= n) {
        vector_cast<float4>(y)[i / 4] = make_float4(sum + v.x, sum + v.y, sum + v.z, sum + v.w);
      } else {
        if (i < n) y[i] = sum + v.x;
        if (i + 1 < n) y[i + 1] = sum + v.y;
        if (i + 2 < n) y[i + 2] = sum + v.z;
        if (i + 3 < n) y[i + 3] = sum + v.w;
      }
    }
  }
};

/// The sums that a warp needs from the other warps of its block.
struct BlockSums {
  reg<float> before;  ///< the sum of the totals of the warps before
  reg<float> total;   ///< the sum of all warps
};

/// Between two calls the block must pass a barrier.
template <int Threads>
__device__ __forceinline__ BlockSums join_warps(reg<float> warp_sum) {
  __shared__ mem<float> sums[Threads / 32];
  if (lane_index() == 0) sums[warp_index()] = warp_sum;
  __syncthreads();  // the sums of all warps are there
  BlockSums joined{0.0f, 0.0f};
  for (int warp = 0; warp < Threads / 32; ++warp) {
    if (warp == warp_index()) joined.before = joined.total;
    joined.total += sums[warp];
  }
  return joined;
}

inline std::int64_t tile_elements(const Params& p) { return p.at("threads") * p.at("items"); }
inline unsigned tiles_of(const Params& p) { return blocks_for(p.at("n"), tile_elements(p)); }
inline Launch tile_launch(const Params& p) { return Launch{{tiles_of(p)}, {static_cast<unsigned>(p.at("threads"))}}; }

/// Calls run(threads, rows) with the tunables as constants.
template <typename Run>
void with_tile(const Params& p, const Run& run) {
  TileThreads::pick(p.at("threads"), [&](auto threads) {
    TileItems::pick(p.at("items"), [&](auto items) { run(threads, std::integral_constant<int, items / 4>{}); });
  });
}

}  // namespace rung
