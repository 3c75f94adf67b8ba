/// FP32's accuracy in FP16, at twice the rate of TF32: two FP16 have as many bits as two TF32, but a range of only
/// 2^30. So a matrix is multiplied by a power of two, second terms are stored times 2^12, and the sums of their
/// products are multiplied by 2^-12 before they are added to the others. Each window of 64 in k has two sums on the
/// tensor cores: one of the 8 products with second terms, one of the 4 products of first terms. Only the latter loses
/// bits that matter. From k = 256 on the errors are smaller than SGEMM's (wgmma_terms.hpp).
///
/// FP16 is used only if its terms hold every number with a relative error of (k + 2) 2^-24 at most, SGEMM's bound for a
/// whole sum. If not, the splitting kernel sets a flag, and two more kernels split and multiply in BF16×6; without the
/// flag they end at once. The flag is set where a number is below 2^-27 / (k + 2) of the largest one of its matrix;
/// with infinities and NaN; and with matrices whose largest number is beyond 2^±60.
///
/// Floor: three times the operations over the peak, 989 TFLOP/s on an H200: 330 TFLOP/s. Before, the largest numbers
/// have to be found, and all numbers split.
/// Source: Ootomo, Yokota 2022, who scale the second terms; Henry, Tang, Heinecke 2019, for BF16×6.
#include "gpu/matmul/accuracy/wgmma_terms.hpp"

namespace rung {
namespace wgmma {
namespace {

constexpr int kCount = std::size(kApartShapes);
constexpr Type kFirst = Type::fp16, kSecond = Type::bf16;  // if FP16 does not hold the terms

int which_of(const Params& p) {
  const std::int64_t wanted = p.get("shape", -1);
  return wanted >= 0 ? static_cast<int>(wanted) : best_term_shape(kApartShapes, kFirst, 3, matmul_shape(p));
}
Shape shape_of(const Params& p) { return in_terms(kFirst, 3, kApartShapes[which_of(p)].shape); }

/// The shapes for BF16×6, as indices into kTermShapes: for a C of few tiles, and of many.
constexpr int kFewTiles = 0, kManyTiles = 1;
int second_of(const Params& p) {
  const auto [m, n, k] = matmul_shape(p);
  return double(m) * n < 1024.0 * 1024 ? kFewTiles : kManyTiles;
}
Launch second_launch(const Params& p) { return launch_of(in_terms(kSecond, 6, kTermShapes[second_of(p)].shape), p); }

std::vector<Operand> scratch(const Params& p) {
  const auto [m, n, k] = matmul_shape(p);
  const auto words = [](const char* name, std::size_t count) {
    return Operand{.name = name, .elements = count, .type = Type::uint32, .role = Role::scratch};
  };
  const auto either = [k = k](int rows) {
    return std::max(words_of_terms(kFirst, rows, k), words_of_terms(kSecond, rows, k));
  };
  return {words("terms of A", either(m)), words("terms of B^T", either(n)), words("range of numbers", kWordsOfRange)};
}

/// The bytes of all kernels, where FP16 holds the terms.
Traffic traffic(const Params& p) {
  const Shape shape = shape_of(p);
  Traffic traffic = term_traffic(kFirst, shape, p);
  if (p.get("alpha", 1) == 0) return traffic;
  const auto [m, n, k] = matmul_shape(p);
  const auto blocks = [](const Launch& launch) { return double(launch.grid.x); };
  const double largest = 4.0 * k * (double(m) + n) + 4.0 * kParts * blocks(split_launch(kFirst, {m, n, k}));
  const double tiles = double(tiles_of(shape, {m, n, k})) * shape.cluster;  // two factors are read for each
  const double flags = 4 * (blocks(launch_of(shape, p)) * shape.threads() + tiles * 2 * shape.groups * 128);
  const Launch second = second_launch(p);
  const double second_flags =
      4 * (blocks(split_launch(kSecond, {m, n, k}, true)) * kSplitThreads + blocks(second) * second.block.x);
  return {.loaded = traffic.loaded + largest + flags + second_flags, .stored = traffic.stored + 4 * kWordsOfRange};
}

template <int... Which>
void run_first(const Call& call, const TermRange& range, std::integer_sequence<int, Which...>) {
  const int which = which_of(call.params);
  ((which == Which ? run_terms<kFirst, TileOf<in_terms(kFirst, 3, kApartShapes[Which].shape)>>(call, range) : void()),
   ...);
}

void run_both(const Call& call) {
  TermRange range{.at = call.operand<mem<unsigned>>(5)};
  run_first(call, range, std::make_integer_sequence<int, kCount>());
  if (call.params.get("alpha", 1) == 0) return;
  range.if_unfit = true;
  Call second = call;
  second.launch = second_launch(call.params);
  if (second_of(call.params) == kFewTiles)
    run_terms<kSecond, TileOf<in_terms(kSecond, 6, kTermShapes[kFewTiles].shape)>>(second, range);
  else
    run_terms<kSecond, TileOf<in_terms(kSecond, 6, kTermShapes[kManyTiles].shape)>>(second, range);
}

const bool added = add_gpu_kernel(
    {.name = "gpu/matmul/wgmma_fp16x3",
     .order = 394,
     .title = "FP16×3",
     .idea =
         "Each float32, scaled, is split into two FP16; where their range does not suffice, BF16×6 is used instead.",
     .source = {{"ootomo2022"}, {"henry2019"}},
     .is_general = true,
     .error_bound = {.factor = 4},
     .tunables = {{"shape",
                   {{-1, "best"}, {0, kApartShapes[0].name}, {1, kApartShapes[1].name}, {2, kApartShapes[2].name}}},
                  {"group_rows", {8, 4, 16}}},
     .scratch = scratch,
     .gpu = {.min_compute_capability = 90,
             .launch = [](const Params& p) { return launch_of(shape_of(p), p); },
             .requested = traffic},
     .run = run_both});

}  // namespace
}  // namespace wgmma
}  // namespace rung
