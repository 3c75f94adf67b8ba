/// For products with few blocks: blocks in y share the depth, each writes its sums to scratch memory, and a second
/// launch adds them, always in the same order.
#pragma once

#include <algorithm>
#include <vector>

#include "common/machine/device_facts.hpp"
#include "gpu/matmul/general.hpp"

namespace rung {

/// How the depth is divided: into parts of a multiple of `step` elements along k; the last part may be shorter.
struct DepthParts {
  int count = 1;
  int depth = 0;  ///< elements along k of each part
};

/// The bytes that a block must read before dividing it gains more than a second launch costs.
constexpr std::int64_t kBytesOfOneBlock = 300'000;

/// Enough parts for every multiprocessor to have a block, but none below `step`. `blocks`: the blocks of one part; each
/// has `width` rows or columns of the large matrix.
inline DepthParts depth_parts(const Params& p, std::int64_t blocks, std::int64_t width, int step) {
  const int k = std::max(1, matmul_shape(p).k), steps = (k + step - 1) / step;
  if (4 * width * k <= kBytesOfOneBlock) return {1, k};
  const auto wanted = static_cast<int>(std::clamp<std::int64_t>(gpu_facts().sm_count / blocks, 1, steps));
  const int depth = (steps + wanted - 1) / wanted * step;
  return {(k + depth - 1) / depth, depth};
}

/// The sums of all parts, each m x n. None if there is a single part, which writes C.
inline std::vector<Operand> scratch_for(const DepthParts& parts, const Params& p) {
  if (parts.count == 1) return {};
  const auto [m, n, k] = matmul_shape(p);
  const std::size_t elements = std::size_t(parts.count) * m * n;
  return {Operand{.name = "sums of parts", .elements = elements, .role = Role::scratch}};
}

/// The traffic of both launches. `moved`: the traffic of the product alone.
inline Traffic with_parts(Traffic moved, const DepthParts& parts, const Params& p) {
  if (parts.count == 1) return moved;
  const auto [m, n, k] = matmul_shape(p);
  const double sums = 4.0 * parts.count * m * n;
  return {.loaded = moved.loaded + sums, .stored = moved.stored + sums};
}

namespace {

/// Writes an element of C, or of this block's part of the sums.
__device__ __forceinline__ void put_part(const General& g, mem<float>* sums, int row, int col, reg<float> sum) {
  if (sums == nullptr) return put(g, row, col, sum);
  if (row < g.m && col < g.n) sums[(std::int64_t{blockIdx.y} * g.m + row) * g.n + col] = sum;
}

__global__ void add_parts(General g, const mem<float>* sums, int parts) {
  const int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
  if (col >= g.n) return;
  reg<float> sum = 0;
  for (int part = 0; part < parts; ++part) sum += sums[(std::int64_t{part} * g.m + row) * g.n + col];
  put(g, row, col, sum);
}

/// Launches `kernel`(General, DepthParts' depth, sums) and, if there are several parts, the kernel that adds them up.
template <typename Kernel>
void run_parts(const Call& call, const DepthParts& parts, Kernel kernel) {
  const General g = general(call);
  mem<float>* sums = parts.count == 1 ? nullptr : call.operand<mem<float>>(3);
  launch(call, kernel, g, parts.depth, sums);
  if (parts.count == 1) return;
  Call adding = call;
  adding.launch = {{blocks_for(g.n, 128), static_cast<unsigned>(g.m)}, {128}};
  launch(adding, add_parts, g, sums, parts.count);
}

}  // namespace
}  // namespace rung
