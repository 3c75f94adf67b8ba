/// For a C of at most 16 rows. Each element of B is used in at most 16 multiply-adds, so reading B from memory takes
/// the time, and a tile of 64 or 128 rows would be mostly padding. A block computes 32 columns of C, one per lane. Its
/// 32 warps divide the depth: a warp first loads 16 or 32 rows of B, 128 bytes of each, so that 64 or 128 KiB are in
/// flight on a multiprocessor, and then multiplies them by the matching elements of A. These are in shared memory; a
/// warp reads four of them in one access, the same four for all lanes. At the end the warps' sums are added in a fixed
/// order. If C has few columns, several blocks divide the depth. Rows may start at any address. Floor: the bytes of B
/// divided by the bandwidth of reading from memory.
#include "gpu/matmul/depth_parts.hpp"

namespace rung {
namespace {

constexpr int kMostRows = 16;
constexpr int kLeastDepth = 512;  // of a block
constexpr int kCols = 32;         // of a block: one per lane
constexpr int kWarps = 32;        // of a block

/// Rows of B that a warp reads before it uses them; with 16 sums there are registers for fewer.
template <int Rows>
constexpr int kDepthFor = Rows > 8 ? 16 : 32;
constexpr std::size_t shared_bytes(int rows) {
  return sizeof(float) * rows * kWarps * kCols;
}  // the sums need the most

/// Rows: rows of A, as compiled; rows beyond g.m are zeros. `depth`: a block's elements along k.
template <int Rows>
__global__ void __launch_bounds__(32 * kWarps) few_rows(General g, int depth, mem<float>* sums) {
  constexpr int kDepth = kDepthFor<Rows>;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  mem<float>* shared = dynamic_shared<mem<float>>();
  mem<float>* part = shared + warp * Rows * kDepth;  // of A: Rows x kDepth
  const int col = blockIdx.x * kCols + lane, end = min(g.k, (static_cast<int>(blockIdx.y) + 1) * depth);

  reg<float> sum[Rows] = {};
  for (int first = blockIdx.y * depth + warp * kDepth; first < end; first += kWarps * kDepth) {
    const int rows = min(kDepth, end - first);
    const mem<float>* b = g.b.at + (first * g.b.ld + col);
    reg<float> element[kDepth];
#pragma unroll
    for (int d = 0; d < kDepth; ++d) {
      element[d] = 0;
      if (d < rows && col < g.n) element[d] = b[d * g.b.ld];
    }
    __syncwarp();  // the part before has been used
#pragma unroll
    for (int i = 0; i < (Rows * kDepth + 31) / 32; ++i) {
      const int at = lane + 32 * i, row = at / kDepth, d = at % kDepth;
      if (at < Rows * kDepth) part[at] = d < rows ? element_at(g.a, row, first + d) : reg<float>(0);
    }
    __syncwarp();  // all of the part is there
#pragma unroll
    for (int d = 0; d < kDepth; d += 4)
#pragma unroll
      for (int row = 0; row < Rows; ++row) {
        reg<float> a[4];
        read_quad(part + (row * kDepth + d), a);
#pragma unroll
        for (int i = 0; i < 4; ++i) sum[row] += a[i] * element[d + i];
      }
  }

  __syncthreads();  // all parts of A have been used: the sums take their place
#pragma unroll
  for (int row = 0; row < Rows; ++row) shared[(row * kWarps + warp) * kCols + lane] = sum[row];
  __syncthreads();  // all sums are there
  if (warp >= Rows) return;
  reg<float> total = 0;
#pragma unroll
  for (int i = 0; i < kWarps; ++i) total += shared[(warp * kWarps + i) * kCols + lane];
  put_part(g, sums, warp, col, total);
}

/// Calls act(rows) with the number of rows that a call's kernel is compiled for.
template <typename Act>
auto with_rows(const Params& p, Act&& act) {
  const int m = matmul_shape(p).m;
  if (m == 1) return act(std::integral_constant<int, 1>{});
  if (m == 2) return act(std::integral_constant<int, 2>{});
  if (m <= 4) return act(std::integral_constant<int, 4>{});
  if (m <= 8) return act(std::integral_constant<int, 8>{});
  return act(std::integral_constant<int, kMostRows>{});
}

DepthParts parts_of(const Params& p) {
  return depth_parts(p, blocks_for(matmul_shape(p).n, kCols), kCols, kLeastDepth);
}

const bool added = add_gpu_kernel({
    .name = "gpu/matmul/few_rows",
    .order = 190,
    .title = "few rows",
    .idea =
        "For at most 16 rows of C: B is read once, 32 elements of it at a time by each lane, and no tile is padded.",
    .source = {{"volkov2010"}},
    .is_general = true,
    .refuse =
        [](const Params& p) {
          return matmul_shape(p).m <= kMostRows ? "" : "m must be at most 16: the kernel is for few rows of C";
        },
    .scratch = [](const Params& p) { return scratch_for(parts_of(p), p); },
    .gpu =
        {
            .launch =
                [](const Params& p) {
                  return with_rows(p, [&](auto rows) {
                    return Launch{{blocks_for(matmul_shape(p).n, kCols), unsigned(parts_of(p).count)},
                                  {32 * kWarps},
                                  shared_bytes(rows)};
                  });
                },
            .requested = [](const Params& p) { return with_parts(tiled_traffic(p, kMostRows, kCols), parts_of(p), p); },
        },
    .run =
        [](const Call& call) {
          with_rows(call.params, [&](auto rows) { run_parts(call, parts_of(call.params), few_rows<rows>); });
        },
});

}  // namespace
}  // namespace rung
