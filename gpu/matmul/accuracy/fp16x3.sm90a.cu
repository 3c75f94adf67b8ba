/// FP32's accuracy in FP16, at twice the rate of TF32: two FP16 have as many bits as two TF32, but a range of 2^30
/// only. So a matrix is multiplied by a power of two, second terms are 2^12 times as large as what first terms leave,
/// and sums of their products are multiplied by 2^-12 before they are added to the others. Each window of 64 in k has
/// two sums on the tensor cores: of the 8 products with second terms, and of the 4 of first terms with each other,
/// which alone cut off in places that matter. From k = 256 on the errors are below those of SGEMM (wgmma_terms.hpp).
///
/// Every number is right to as many units in the last place as SGEMM's bound has for a whole sum, k + 2, or nothing is
/// multiplied in FP16: a flag, which the splitting kernel sets, lets two more kernels split and multiply in BF16×6,
/// which otherwise end at once. So it is where a number is below 2^-27 of the largest one of its matrix, divided by
/// k + 2; with infinities and NaN; and with matrices whose largest number is beyond 2^±60.
///
/// Floor: three times the operations over the peak, 989 TFLOP/s on an H200: 330 TFLOP/s, 0.42 ms at N = 4096, and
/// 0.10 ms to find the largest numbers and to split. Of the rate that one product reaches, 800 TFLOP/s, 267 are left.
/// Source: Ootomo, Yokota 2022, who scale the second terms; Henry, Tang, Heinecke 2019, for BF16×6.
#include "gpu/matmul/accuracy/wgmma_terms.hpp"

namespace rung {
namespace wgmma {
namespace {

constexpr int kCount = std::size(kApartShapes);
constexpr Type kFirst = Type::fp16, kSecond = Type::bf16;  // if that does not hold the terms

int which_of(const Params& p) {
  const std::int64_t wanted = p.get("shape", -1);
  return wanted >= 0 ? static_cast<int>(wanted) : best_term_shape(kApartShapes, kFirst, 3, matmul_shape(p));
}
Shape shape_of(const Params& p) { return in_terms(kFirst, 3, kApartShapes[which_of(p)].shape); }

/// Of BF16×6, by their places in kTermShapes: for a C of few tiles, and of many.
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
  const double tiles = double(tiles_of(shape, {m, n, k})) * shape.cluster;  // for each of which two factors are read
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
         "Each float32, scaled, is split into two FP16; where their range does not suffice, BF16×6 takes its place.",
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
