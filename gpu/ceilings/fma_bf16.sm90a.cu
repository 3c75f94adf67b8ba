/// The peak rate of the tensor cores in bfloat16 with float32 sums: warpgroups iterate products of 64 x 32 and 32 x 256
/// from shared memory, four instructions in flight, and touch memory only at both ends. A product is 64 of the
/// problem's chains, side by side: A repeats their tile `a` four times down, B their tile `b` sixteen times across.
/// Source: NVIDIA PTX ISA, wgmma; Yang and others 2020 (in-core ceilings).
#include "common/problem/fma_bf16.hpp"
#include "gpu/device_facts.hpp"
#include "gpu/simt/simt.hpp"
#ifdef RUNG_SM90A
#include "gpu/matmul/hopper_ptx.hpp"
#include "gpu/matmul/wgmma_ptx.hpp"
#endif

namespace rung {
namespace {

constexpr int kGroups = 2;              // warpgroups of a block
constexpr int kRows = 64, kCols = 256;  // of a product
constexpr int kChainsOfGroup = kRows / kTileRows * kCols / kTileCols;
constexpr int kChainsOfBlock = kGroups * kChainsOfGroup;

#ifdef RUNG_SM90A

/// A tile of `rows` rows of 32 numbers, as wgmma reads it without a swizzle: blocks of 8 rows of 8 numbers.
__device__ __forceinline__ int place(int rows, int row, int k) {
  return (k / 8 * rows / 8 + row / 8) * 64 + row % 8 * 8 + k % 8;
}

__global__ void __launch_bounds__(kGroups * 128, 1)
    fma_bf16(const float* x, const Bf16* a, const Bf16* b, float* y, std::int64_t chains, int iterations) {
  __shared__ __align__(128) Bf16 as[kRows * kTileDepth];
  __shared__ __align__(128) Bf16 bs[2][kCols * kTileDepth];
  for (int i = threadIdx.x; i < kRows * kTileDepth; i += blockDim.x) {
    const int row = i / kTileDepth, k = i % kTileDepth;
    as[place(kRows, row, k)] = a[row % kTileRows * kTileDepth + k];
  }
  for (int i = threadIdx.x; i < 2 * kCols * kTileDepth; i += blockDim.x) {
    const int which = i / (kCols * kTileDepth), col = i / kTileDepth % kCols, k = i % kTileDepth;
    bs[which][place(kCols, col, k)] = b[(which * kTileDepth + k) * kTileCols + col % kTileCols];
  }
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();

  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
  const std::int64_t first = std::int64_t{blockIdx.x} * kChainsOfBlock + threadIdx.x / 128 * kChainsOfGroup;
  float sum[128];
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
      for (int k = 0; k < kTileDepth / 16; ++k)
        hopper::wgmma_64x256<Type::bf16, false>(sum, hopper::block_descriptor(a_at + 2 * k * kAlongA, 128, kAlongA),
                                                hopper::block_descriptor(b_at[which] + 2 * k * kAlongB, 128, kAlongB),
                                                1);
    hopper::wgmma_commit();
    hopper::wgmma_wait<1>();
  }
  hopper::wgmma_wait<0>();
#pragma unroll
  for (int i = 0; i < 128; ++i)
    if (element(i) < chains * kTileSums) y[element(i)] = sum[i];
}

void run(const Call& call) {
  launch(call, fma_bf16, call.operand<const float>(0), call.operand<const Bf16>(1), call.operand<const Bf16>(2),
         call.operand<float>(3), call.params.at("chains"), static_cast<int>(call.params.at("iterations")));
}

#else

void run(const Call&) { throw Error("this program has no code for sm_90a"); }

#endif

const bool added = add_gpu_kernel({
    .name = "gpu/fma/bf16",
    .order = 20,
    .title = "BF16 tensor cores",
    .idea = "Products in shared memory whose sums stay in registers keep the tensor cores busy in every clock.",
    .source = {{"ptx-isa", "wgmma"}},
    .type = Type::bf16,
    .ceiling = Ceiling{"BF16 tensor cores", false},
    .sizes =
        [] {
          return Params{{"chains", std::int64_t{gpu_facts().sm_count} * kChainsOfBlock}, {"iterations", 8192}};
        },
    .gpu = {.min_compute_capability = 90,
            .not_emulated = "wgmma is an instruction of compute capability 9.0",
            .launch =
                [](const Params& p) {
                  return Launch{{blocks_for(p.at("chains"), kChainsOfBlock)}, {kGroups * 128}};
                },
            .requested =
                [](const Params& p) {
                  const double sums = 4.0 * kTileSums * p.at("chains");
                  const double factors = sizeof(Bf16) * (kRows + 2 * kCols) * kTileDepth;  // of each block
                  return Traffic{.loaded = sums + factors * blocks_for(p.at("chains"), kChainsOfBlock), .stored = sums};
                }},
    .run = run,
});

}  // namespace
}  // namespace rung
