/// The kernel of the ceilings of tensor cores. Only for files compiled for sm_90a.
#pragma once

#include "gpu/ceilings/fma_tensor.hpp"
#include "gpu/simt/hopper_ptx.hpp"
#include "gpu/simt/wgmma_ptx.hpp"

namespace rung::fma_tensor {

/// Where a number of a tile of `rows` rows is, as wgmma reads it without a swizzle: blocks of 8 rows of 16 bytes.
template <typename Stored>
__device__ __forceinline__ int place(int rows, int row, int k) {
  constexpr int kOfRow = 16 / sizeof(Stored);
  return (k / kOfRow * rows / 8 + row / 8) * 8 * kOfRow + row % 8 * kOfRow + k % kOfRow;
}

template <Type kType, typename Stored, typename Sum>
__global__ void __launch_bounds__(kGroups * 128, 1)
    iterate(const Sum* x, const Stored* a, const Stored* b, Sum* y, std::int64_t chains, int iterations) {
  constexpr int kDepth = tile_depth(kType);
  static_assert(kDepth * sizeof(Stored) == kStepBytes);
  __shared__ __align__(128) Stored as[kRows * kDepth];
  __shared__ __align__(128) Stored bs[2][kCols * kDepth];
  for (int i = threadIdx.x; i < kRows * kDepth; i += blockDim.x) {
    const int row = i / kDepth, k = i % kDepth;
    as[place<Stored>(kRows, row, k)] = a[row % kTileRows * kDepth + k];
  }
  for (int i = threadIdx.x; i < 2 * kCols * kDepth; i += blockDim.x) {
    const int which = i / (kCols * kDepth), col = i / kDepth % kCols, k = i % kDepth;
    bs[which][place<Stored>(kCols, col, k)] = b[(which * kDepth + k) * kTileCols + col % kTileCols];
  }
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();

  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
  const std::int64_t first = std::int64_t{blockIdx.x} * kChainsOfBlock + threadIdx.x / 128 * kChainsOfGroup;
  Sum sum[128];
  const auto element = [&](int i) {  // of x and y
    const int j = i / 4, row = lane / 4 + i / 2 % 2 * 8, col = j % 2 * 8 + lane % 4 * 2 + i % 2;
    return (first + warp * (kCols / kTileCols) + j / 2) * kTileSums + row * kTileCols + col;
  };
#pragma unroll
  for (int i = 0; i < 128; ++i) sum[i] = element(i) < chains * kTileSums ? x[element(i)] : 0;
  const std::uint32_t a_at = hopper::shared_address(as);
  const std::uint32_t b_at[2] = {hopper::shared_address(bs[0]), hopper::shared_address(bs[1])};
  constexpr std::uint32_t kAlongA = kRows / 8 * 128, kAlongB = kCols / 8 * 128;
  hopper::wgmma_fence();
#pragma unroll 1
  for (int i = 0; i < iterations; i += 2) {
#pragma unroll
    for (int which = 0; which < 2; ++which)
#pragma unroll
      for (int k = 0; k < kStepBytes / 32; ++k)
        hopper::wgmma_64x256<kType, false>(sum, hopper::block_descriptor(a_at + 2 * k * kAlongA, 128, kAlongA),
                                           hopper::block_descriptor(b_at[which] + 2 * k * kAlongB, 128, kAlongB), 1);
    hopper::wgmma_commit();
    hopper::wgmma_wait<1>();
  }
  hopper::wgmma_wait<0>();
#pragma unroll
  for (int i = 0; i < 128; ++i)
    if (element(i) < chains * kTileSums) y[element(i)] = sum[i];
}

inline namespace sm90a {

template <Type kType>
void run(const Call& call) {
  using Stored = hopper::StoredAs<kType>;
  using Sum = hopper::Sum<kType>;
  launch(call, iterate<kType, Stored, Sum>, call.operand<const Sum>(0), call.operand<const Stored>(1),
         call.operand<const Stored>(2), call.operand<Sum>(3), call.params.at("chains"),
         static_cast<int>(call.params.at("iterations")));
}

}  // namespace sm90a
}  // namespace rung::fma_tensor
