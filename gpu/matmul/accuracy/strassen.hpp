/// Strassen's product over another kernel: with A, B and C in 2 x 2 blocks, seven products of sums of blocks replace
/// the definition's eight products. Two levels are 49 products instead of 64, of sums of up to four of 4 x 4 blocks.
///
/// One kernel reads A and writes the left factors of all products, another does so for B, then the products are
/// computed one after the other, and a last kernel adds them up to C. Every block is read once, however many sums use
/// it. Blocks at the edges are filled with zeros.
///
/// Floor: 7/8 or 49/64 of the operations at the rate of the other kernel, and the sums' bytes: 1 + 7/4 float32 numbers
/// per element of A, of B and of C, or 1 + 49/16 with two levels.
///
/// Errors are bounded by the largest numbers of A and B alone: small elements of C may be off by more than SGEMM's
/// bound, |A||B|, allows. With k0 = k / 2^levels, |error| <= (12^levels (k0^2 + 5 k0) - 5 k) u max|A| max|B|, where the
/// definition has k^2 u max|A| max|B|. The factor is 3 k^2 + 25 k with one level and 9 k^2 + 175 k with two, at most 20
/// k^2 from k = 16 on. So results are checked against the problem's bound by norm, times 20. Sources: Strassen:
/// Gaussian Elimination is not Optimal, 1969; Higham: Accuracy and Stability of Numerical Algorithms, 2002, section
/// 23.2.2; Huang, Smith, Henry, van de Geijn: Strassen's Algorithm Reloaded, 2016.
#pragma once

#include <algorithm>
#include <iterator>
#include <memory>

#include "common/host_device.hpp"
#include "gpu/matmul/general.hpp"
#include "gpu/simt/other_kernel.hpp"

namespace rung::strassen {

constexpr int kThreads = 256;
constexpr ErrorBound kErrorBound{.factor = 20, .by_norm = true};

enum class MatrixOf { a, b, c };

RUNG_ANYWHERE constexpr int side_of(int levels) { return 1 << levels; }
RUNG_ANYWHERE constexpr int products_of(int levels) { return levels == 1 ? 7 : 49; }

/// The coefficient of a block of A or B in a factor of a product, or of a product in a block of C: 1, -1 or 0. Blocks
/// are counted row by row.
RUNG_ANYWHERE constexpr int coefficient(MatrixOf of, int levels, int product, int block) {
  constexpr int kOne[3][7][4] = {
      {{1, 0, 0, 1}, {0, 0, 1, 1}, {1, 0, 0, 0}, {0, 0, 0, 1}, {1, 1, 0, 0}, {-1, 0, 1, 0}, {0, 1, 0, -1}},
      {{1, 0, 0, 1}, {1, 0, 0, 0}, {0, 1, 0, -1}, {-1, 0, 1, 0}, {0, 0, 0, 1}, {1, 1, 0, 0}, {0, 0, 1, 1}},
      {{1, 0, 0, 1}, {0, 0, 1, -1}, {0, 1, 0, 1}, {1, 0, 1, 0}, {-1, 1, 0, 0}, {0, 0, 0, 1}, {1, 0, 0, 0}}};
  const auto& one = kOne[static_cast<int>(of)];
  if (levels == 1) return one[product][block];
  const int row = block / 4, col = block % 4;
  return one[product / 7][row / 2 * 2 + col / 2] * one[product % 7][row % 2 * 2 + col % 2];
}

/// The shape of a block's product.
inline MatmulShape block_shape(const MatmulShape& s, int levels) {
  const auto part = [&](int n, int multiple) {
    return static_cast<int>(blocks_for(n, side_of(levels) * multiple)) * multiple;
  };
  return {.m = part(s.m, 1), .n = part(s.n, 4), .k = part(s.k, 4)};  // rows of whole float4s
}

/// The levels of a call: as requested, else two where blocks of a quarter of the side still fill a large GPU.
inline int levels_of(const Params& p) {
  if (const std::int64_t wanted = p.get("levels", 0); wanted > 0) return static_cast<int>(wanted);
  const auto [m, n, k] = matmul_shape(p);
  return std::min({m, n, k}) >= 8192 ? 2 : 1;
}

/// The parameters with which the other kernel computes a product of blocks.
inline Params block_params(const Kernel& base, const Params& p) {
  const auto [m, n, k] = block_shape(matmul_shape(p), levels_of(p));
  Params params{{"m", m}, {"n", n}, {"k", k}};
  for (const auto& [name, value] : with_tunables(base, {})) params.set(name, value);
  return params;
}

/// The bytes of the sums and of the products.
inline Traffic traffic_of(const Kernel& base, const Params& p) {
  const MatmulShape s = matmul_shape(p), block = block_shape(s, levels_of(p));
  const double c = 4.0 * s.m * s.n, beta_c = p.get("beta", 0) == 0 ? 0 : c;
  if (p.get("alpha", 1) == 0) return {.loaded = beta_c, .stored = c};
  const double products = products_of(levels_of(p)), read = 4.0 * s.k * (double(s.m) + s.n);
  const double factors = 4.0 * products * block.k * (double(block.m) + block.n);
  const Traffic one = base.gpu.requested(block_params(base, p));
  return {.loaded = read + products * (one.loaded + 4.0 * block.m * block.n) + beta_c,
          .stored = factors + products * one.stored + c};
}

namespace {

/// A float4 of each block, from which a thread computes a float4 of each sum.
template <int kLevels>
struct Quads {
  reg<float> of[side_of(kLevels) * side_of(kLevels)][4];
};

/// sum += factor value, or sum = factor value if it is the first.
__device__ __forceinline__ void add(reg<float> (&sum)[4], const reg<float> (&value)[4], int factor, bool is_first) {
#pragma unroll
  for (int e = 0; e < 4; ++e) {
    if (is_first)
      sum[e] = factor > 0 ? value[e] : -value[e];
    else
      sum[e] = factor > 0 ? sum[e] + value[e] : sum[e] - value[e];
  }
}

/// Writes the factors of all products that come from a matrix, one after the other: rows x cols numbers each.
template <int kLevels, MatrixOf kOf>
__global__ void __launch_bounds__(kThreads) factors(Matrix<mem<float>> x, mem<float>* to, int rows, int cols) {
  constexpr int kSide = side_of(kLevels);
  const int quad = blockIdx.x * kThreads + threadIdx.x, row = quad / (cols / 4), col = quad % (cols / 4) * 4;
  if (row >= rows) return;
  Quads<kLevels> block;
#pragma unroll
  for (int b = 0; b < kSide * kSide; ++b) {
    const float4 read = quad_at(x, b / kSide * rows + row, b % kSide * cols + col);
    block.of[b][0] = read.x, block.of[b][1] = read.y, block.of[b][2] = read.z, block.of[b][3] = read.w;
  }
#pragma unroll
  for (int p = 0; p < products_of(kLevels); ++p) {
    reg<float> sum[4] = {};
    bool is_first = true;
#pragma unroll
    for (int b = 0; b < kSide * kSide; ++b)
      if (const int factor = coefficient(kOf, kLevels, p, b); factor != 0) {
        add(sum, block.of[b], factor, is_first);
        is_first = false;
      }
    write_quad(to + ((std::int64_t{p} * rows + row) * cols + col), make_float4(sum[0], sum[1], sum[2], sum[3]));
  }
}

/// C = alpha times the sums of the products + beta C.
template <int kLevels>
__global__ void __launch_bounds__(kThreads) add_up(General g, const mem<float>* products, int rows, int cols) {
  constexpr int kSide = side_of(kLevels);
  const int quad = blockIdx.x * kThreads + threadIdx.x, row = quad / (cols / 4), col = quad % (cols / 4) * 4;
  if (row >= rows) return;
  Quads<kLevels> block;
#pragma unroll
  for (int b = 0; b < kSide * kSide; ++b)
#pragma unroll
    for (int e = 0; e < 4; ++e) block.of[b][e] = 0;
  if (g.k > 0) {
#pragma unroll
    for (int p = 0; p < products_of(kLevels); ++p) {
      reg<float> product[4];
      read_quad(products + ((std::int64_t{p} * rows + row) * cols + col), product);
#pragma unroll
      for (int b = 0; b < kSide * kSide; ++b)
        if (const int factor = coefficient(MatrixOf::c, kLevels, p, b); factor != 0)
          add(block.of[b], product, factor, false);
    }
  }
#pragma unroll
  for (int b = 0; b < kSide * kSide; ++b) put_quad(g, b / kSide * rows + row, b % kSide * cols + col, block.of[b]);
}

template <int kLevels>
void run(const Kernel& base, const Call& call) {
  const General g = general(call);
  const MatmulShape block = block_shape(matmul_shape(call.params), kLevels);
  auto *const a = call.operand<mem<float>>(3), *const b = call.operand<mem<float>>(4),
              *const c = call.operand<mem<float>>(5);
  Call adding = call;
  const auto over = [&](int rows, int cols) -> const Call& {
    adding.launch = {{blocks_for(std::int64_t{rows} * (cols / 4), kThreads)}, {kThreads}};
    return adding;
  };
  if (g.k > 0) {
    launch(over(block.m, block.k), factors<kLevels, MatrixOf::a>, g.a, a, block.m, block.k);
    launch(over(block.k, block.n), factors<kLevels, MatrixOf::b>, g.b, b, block.k, block.n);
    Call product = call;
    product.params = block_params(base, call.params);
    for (std::int64_t p = 0; p < products_of(kLevels); ++p) {
      product.operands = {a + p * block.m * block.k, b + p * block.k * block.n, c + p * block.m * block.n};
      product.operands.insert(product.operands.end(), call.operands.begin() + 6,
                              call.operands.end());  // base's scratch
      body_of(base)(product);
    }
  }
  launch(over(block.m, block.n), add_up<kLevels>, g, c, block.m, block.n);
}

/// Completes and adds the record of the rung over `base_name`. `kernel`: its name and texts.
bool add_over(const char* base_name, Kernel kernel) {
  const auto base = [=, found = std::make_shared<const Kernel*>(nullptr)]() -> const Kernel& {
    if (*found == nullptr) *found = &find_kernel(base_name);
    return **found;
  };
  kernel.source.insert(kernel.source.begin(), {{"strassen1969"}, {"higham2002", "section 23.2.2"}, {"huang2016"}});
  kernel.is_general = true;
  kernel.error_bound = kErrorBound;
  kernel.tunables = {{"levels", {{0, "best"}, 1, 2}}};
  kernel.scratch = [=](const Params& p) -> std::vector<Operand> {
    const MatmulShape block = block_shape(matmul_shape(p), levels_of(p));
    const auto numbers = [&](const char* name, int rows, int cols) {
      return Operand{.name = name,
                     .elements = std::size_t(products_of(levels_of(p))) * rows * cols,
                     .type = Type::fp32,
                     .role = Role::scratch};
    };
    std::vector<Operand> all{numbers("factors of A", block.m, block.k), numbers("factors of B", block.k, block.n),
                             numbers("products", block.m, block.n)};
    if (base().scratch) std::ranges::copy(base().scratch(block_params(base(), p)), std::back_inserter(all));
    return all;
  };
  kernel.gpu.launch = [=](const Params& p) { return base().gpu.launch(block_params(base(), p)); };
  kernel.gpu.requested = [=](const Params& p) { return traffic_of(base(), p); };
  kernel.run = [=](const Call& call) { levels_of(call.params) == 1 ? run<1>(base(), call) : run<2>(base(), call); };
  return add_gpu_kernel(std::move(kernel));
}

}  // namespace
}  // namespace rung::strassen
