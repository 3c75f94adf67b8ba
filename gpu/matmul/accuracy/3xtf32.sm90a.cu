/// FP32's accuracy in TF32: each number is the sum of two of 11 bits, the second what the first leaves. Three of their
/// four products are added: the fourth is 2^-22 of the first at most. A single product is off by 10 roundings at most,
/// where FP32 has one: hence the factor 4 of the problem's bound, which has 3 at k = 1. In a sum the errors of the
/// products are independent of each other, while every rounding of FP32 is of the size of the sum: from k = 256 on the
/// latter are larger (wgmma_terms.hpp).
/// Floor: three times the operations over the peak, 495 TFLOP/s on an H200: 165 TFLOP/s, 0.83 ms at N = 4096, and
/// 0.10 ms for the splitting. Of the rate that one product reaches, 420 TFLOP/s, 140 are left.
/// Source: Ootomo, Yokota 2022; CUTLASS, 3xTF32.
#include "gpu/matmul/accuracy/wgmma_terms.hpp"

namespace rung {
namespace {

const bool added = wgmma::add_terms<Type::tf32, 3>({
    .name = "gpu/matmul/wgmma_3xtf32",
    .order = 390,
    .title = "3×TF32",
    .idea = "Each float32 is split into two TF32, and three of their products on tensor cores make up one.",
    .source = {{"ootomo2022"}, {"cutlass", "3xTF32"}},
    .error_bound = {.factor = 4},
});

}  // namespace
}  // namespace rung
