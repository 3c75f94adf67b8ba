/// Warp tiles with everything loaded ahead, in registers: the next phase's float4s of A and B come from global memory
/// while this phase is multiplied, and the next step's row and column from shared memory while this step is multiplied.
/// A thread then keeps 64 sums, 16 elements in flight and two sets of 16 operands. `registers` caps the compiler's use
/// of registers: few leave room for more warps on a multiprocessor, but values that do not fit are spilled to local
/// memory and read back. The compiler first spills elements that are loaded ahead, and a thread has to wait for such an
/// element before it can spill it. Expect the first spill to undo the loading ahead, and spills of sums to cost far
/// more. Compiled for compute capability 9.0, no cap below 24 is kept. Source: PMPP 4e, section 4.7 (resource
/// partitioning); Volkov, Better performance at lower occupancy, 2010.
#include "gpu/matmul/general.hpp"

namespace rung {
namespace {

constexpr int kBlock = 128;                    // rows and columns of C that a block computes
constexpr int kDepth = 16;                     // columns of A, rows of B that a phase loads
constexpr int kWarpRows = 64, kWarpCols = 32;  // of C that a warp computes
constexpr int kThread = 8;                     // rows and columns of C that a thread computes
constexpr int kLanesDown = kWarpRows / kThread, kLanesAcross = kWarpCols / kThread;
constexpr int kWarpsAcross = kBlock / kWarpCols;
constexpr int kThreads = kBlock * kBlock / kThread / kThread;
constexpr int kPadding = 4;                             // elements: shifts each row of the transposed tile by 4 banks
constexpr int kQuads = kBlock * kDepth / 4 / kThreads;  // of each tile that a thread loads

using Caps = Choices<128, 24, 32, 40, 48, 64, 80, 96, 112, 168, 255>;

template <int Registers>
__global__ void __launch_bounds__(kThreads) __maxnreg__(Registers) matmul_prefetch(General g) {
  __shared__ __align__(16) mem<float> as[kDepth][kBlock + kPadding];
  __shared__ __align__(16) mem<float> bs[kDepth][kBlock];
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  const int ty = warp / kWarpsAcross * kWarpRows + lane / kLanesAcross * 4;  // a thread's first row and column
  const int tx = warp % kWarpsAcross * kWarpCols + lane % kLanesAcross * 4;
  const int a_row = threadIdx.x / 2 % kBlock, a_col = threadIdx.x % 2 * 4;  // the stores of a warp use all banks
  const int b_row = threadIdx.x / (kBlock / 4), b_col = threadIdx.x % (kBlock / 4) * 4;
  const int first_row = blockIdx.y * kBlock, first_col = blockIdx.x * kBlock;
  float4 a_next[kQuads], b_next[kQuads];
  const auto load = [&](int phase) {
#pragma unroll
    for (int j = 0; j < kQuads; ++j) a_next[j] = quad_at(g.a, first_row + a_row, phase + a_col + j * 8);
#pragma unroll
    for (int j = 0; j < kQuads; ++j) b_next[j] = quad_at(g.b, phase + b_row + j * kDepth / kQuads, first_col + b_col);
  };
  const auto store = [&] {
#pragma unroll
    for (int j = 0; j < kQuads; ++j) {
      as[a_col + j * 8][a_row] = a_next[j].x;
      as[a_col + j * 8 + 1][a_row] = a_next[j].y;
      as[a_col + j * 8 + 2][a_row] = a_next[j].z;
      as[a_col + j * 8 + 3][a_row] = a_next[j].w;
      write_quad(&bs[b_row + j * kDepth / kQuads][b_col], b_next[j]);
    }
  };
  reg<float> column[2][kThread], line[2][kThread];
  const auto read = [&](int i) {
#pragma unroll
    for (int q = 0; q < kThread / 4; ++q) read_quad(&as[i][ty + q * 4 * kLanesDown], column[i % 2] + q * 4);
#pragma unroll
    for (int q = 0; q < kThread / 4; ++q) read_quad(&bs[i][tx + q * 4 * kLanesAcross], line[i % 2] + q * 4);
  };
  reg<float> sum[kThread][kThread];
  for (int r = 0; r < kThread; ++r)
    for (int q = 0; q < kThread; ++q) sum[r][q] = 0;
  if (g.k > 0) load(0);
  for (int phase = 0; phase < g.k; phase += kDepth) {
    store();
    __syncthreads();
    if (phase + kDepth < g.k) load(phase + kDepth);
    read(0);
#pragma unroll
    for (int i = 0; i < kDepth; ++i) {
      if (i + 1 < kDepth) read(i + 1);
#pragma unroll
      for (int r = 0; r < kThread; ++r)
#pragma unroll
        for (int q = 0; q < kThread; ++q) sum[r][q] += column[i % 2][r] * line[i % 2][q];
    }
    __syncthreads();
  }
#pragma unroll
  for (int r = 0; r < kThread; ++r)
#pragma unroll
    for (int q = 0; q < kThread / 4; ++q)
      put_quad(g, first_row + ty + r / 4 * 4 * kLanesDown + r % 4, first_col + tx + q * 4 * kLanesAcross,
               sum[r] + q * 4);
}

const bool added = add_gpu_kernel({
    .name = "gpu/matmul/prefetch",
    .order = 155,
    .title = "prefetched",
    .idea = "The next phase's elements and the next step's operands are loaded ahead, into as many registers as the "
            "cap allows.",
    .source = {{"volkov2010"}, {"pmpp", "section 4.7"}},
    .is_general = true,
    .tunables = {{.name = "registers", .values = Caps::values(), .what = "registers per thread"}},
    .gpu = {
        .launch = [](const Params& p) { return tiled_launch(p, kBlock, kBlock, {kThreads}); },
        .requested = [](const Params& p) { return tiled_traffic(p, kBlock, kBlock); },
    },
    .run =
        [](const Call& call) {
          Caps::pick(call.params.at("registers"),
                     [&](auto registers) { launch(call, matmul_prefetch<registers>, general(call)); });
        },
});

}  // namespace
}  // namespace rung
