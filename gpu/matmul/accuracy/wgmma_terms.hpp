/// The rungs that multiply float32 matrices on tensor cores: each number is split into terms (float_terms.hpp), and the
/// products of the terms that matter are added, the smallest first.
///
/// Errors. A wgmma multiplies exactly, but truncates the products and the previous sum 25 bits after the leading bit of
/// the largest of them, and truncates their sum to the 24 bits of a float32. In a sum that stayed on the tensor cores
/// these errors would all have one direction and, for large k, would exceed SGEMM's by far. So each step of 16 in k (in
/// FP16, each window of 64) has its own sum, and ordinary additions, which round to nearest, add it to the others.
/// Within a step the smallest products come first: errors are relative to the sum so far, so the errors of the small
/// products are 2^-8 of the others (2^-11 in TF32). A step is off by one unit in the last place of its sum, and k / 16
/// additions round instead of SGEMM's k. From k = 256 on the largest error over |A||B| is smaller than SGEMM's, with
/// random, badly scaled and cancelling inputs. In sums of a few terms it is up to twice as large, since truncation is
/// up to twice as bad as rounding.
///
/// Sources: Ootomo, Yokota 2022; Xie, Wang, Yang, Yang: MMA-Sim, 2025, for the bits that a wgmma keeps.
///
/// Floor, for a step of 16 in k with a tile of 128 x 192: 6 instructions of each warpgroup (3 products of TF32, 6 of
/// BF16) take 1152 clocks of the tensor cores, 9 of BF16 take 1728. Splitting in this kernel would take, at shared
/// memory's 128 bytes per clock, 160 clocks to write A and B as TMA does, 160 to read them, 320 to write two terms of
/// TF32 or 240 for three of BF16, and 768 for the instructions' operands. That is 1408 clocks, more than the 1152, for
/// numbers that 22 or 43 other blocks split as well at N = 4096. (A's terms could come from registers, but these are
/// full: 192 for sums.) If the numbers are split once before, the same tile takes 320 + 768 clocks of shared memory,
/// and 40 KB from L2, 36 bytes per clock before two blocks share B. The splitting kernel moves only 4 + 8 bytes per
/// number. Hence splitting is a separate kernel, and all products of a tile come from shared memory after one load.
///
/// In FP16 there are half as many products, and terms have half the bytes: the same tile takes as long for 32 in k.
///
/// Unlike SGEMM: an infinity in a row of A or a column of B results in NaN, since the other operand's smaller terms are
/// zeros or have the other sign. Numbers below 2^-110 (TF32: 2^-113) lose bits that would be below the smallest number
/// of the type. Sums within 2^-7 of the largest number may overflow.
#pragma once

#include "gpu/matmul/accuracy/split_terms.hpp"
#include "gpu/matmul/wgmma/engine/wgmma_shapes.hpp"

namespace rung::wgmma {

/// Sums take twice the registers, as in FP8, so that no tile is wider than 192.
inline constexpr Named kTermShapes[] = {
    {"128x64", small(2, 64, 1, 1, 64)},
    {"128x128_pair", staged(large(128))},
    {"128x192_pair", staged(large(192))},
};

/// The shapes for FP16. A window takes two stages, so they have a larger ring instead of a second box of C.
inline constexpr Named kApartShapes[] = {
    {"128x64", small(2, 64, 1, 1, 64)},
    {"128x128_pair", staged(large(128), 1)},
    {"128x192_pair", staged(large(192), 1)},
};

/// The same shape for float32 numbers in terms of `type`. `products`: how many products of terms are added.
constexpr Shape in_terms(Type type, int products, Shape shape) {
  shape.input_bytes = type == Type::tf32 ? 4 : 2;
  shape.promotes = true;
  shape.terms = terms_of(type);
  shape.products = products;
  shape.apart = type == Type::fp16;
  shape.layout = MatmulLayout::nt;  // of the terms
  shape.general = true;
  return shape;
}

/// The index of the shape with the least expected time.
inline int best_term_shape(std::span<const Named> shapes, Type type, int products, const MatmulShape& p) {
  const auto cycles = [&](const Named& named) {
    return expected_cycles(in_terms(type, products, named.shape), p, gpu_facts().sm_count);
  };
  const auto best = std::min_element(shapes.begin(), shapes.end(),
                                     [&](const Named& x, const Named& y) { return cycles(x) < cycles(y); });
  return static_cast<int>(best - shapes.begin());
}

/// The bytes of the splitting kernel and of the product. A number's terms take 8 bytes, in FP16 4.
inline Traffic term_traffic(Type type, const Shape& shape, const Params& p) {
  const auto [m, n, k] = matmul_shape(p);
  const double depth = p.get("alpha", 1) == 0 ? 0.0 : double(padded_depth(type, k)), c = 4.0 * m * n;
  const double bytes = double(term_block_bytes(type)) / term_depth(type);
  const double across = blocks_for(n, shape.cols), down = blocks_for(m, shape.rows() * shape.cluster);
  const double read = p.get("alpha", 1) == 0 ? 0.0 : 4.0 * k * (double(m) + n);
  return {.loaded = read + bytes * depth * (across * m + down * n) + (p.get("beta", 0) == 0 ? 0 : c),
          .stored = bytes * depth * (double(m) + n) + c};
}

namespace {

template <Type kType, int kProducts, int... Which>
void run_in_terms(int which, const Call& call, std::integer_sequence<int, Which...>) {
  ((which == Which ? run_terms<kType, TileOf<in_terms(kType, kProducts, kTermShapes[Which].shape)>>(call) : void()),
   ...);
}

/// Completes and adds the record of a rung that adds kProducts products of terms. `kernel`: its name, texts and bound.
template <Type kType, int kProducts>
bool add_terms(Kernel kernel) {
  constexpr int kCount = std::size(kTermShapes);
  std::vector<Value> names{{-1, "best"}};
  for (int i = 0; i < kCount; ++i) names.push_back({i, kTermShapes[i].name});
  kernel.tunables = {{"shape", names}};
  const auto which_of = [](const Params& p) {
    const std::int64_t wanted = p.get("shape", -1);
    return wanted >= 0 ? static_cast<int>(wanted) : best_term_shape(kTermShapes, kType, kProducts, matmul_shape(p));
  };
  const auto shape_of = [=](const Params& p) { return in_terms(kType, kProducts, kTermShapes[which_of(p)].shape); };
  kernel.is_general = true;
  kernel.scratch = [](const Params& p) -> std::vector<Operand> {
    const auto [m, n, k] = matmul_shape(p);
    const auto terms = [](const char* name, std::size_t words) {
      return Operand{.name = name, .elements = words, .type = Type::uint32, .role = Role::scratch};
    };
    return {terms("terms of A", words_of_terms(kType, m, k)), terms("terms of B^T", words_of_terms(kType, n, k))};
  };
  kernel.gpu.min_compute_capability = 90;
  kernel.gpu.launch = [=](const Params& p) { return launch_of(shape_of(p), p); };
  kernel.gpu.requested = [=](const Params& p) { return term_traffic(kType, shape_of(p), p); };
  kernel.run = [=](const Call& call) {
    run_in_terms<kType, kProducts>(which_of(call.params), call, std::make_integer_sequence<int, kCount>());
  };
  return add_gpu_kernel(std::move(kernel));
}

}  // namespace
}  // namespace rung::wgmma
