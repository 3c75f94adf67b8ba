/// FP32's accuracy in TF32: each number is the sum of two terms of 11 bits, the second being the remainder of the
/// first. Three of the four products of terms are added: the fourth is 2^-22 of the first at most. A single product has
/// at most 10 roundings, where FP32 has one: hence 4 times the problem's bound, which allows 3 at k = 1. In a sum the
/// errors of the products are independent of each other, while every rounding of FP32 is of the size of the sum: from k
/// = 256 on FP32's errors are larger (wgmma_terms.hpp).
/// Floor: three times the operations over the peak, 495 TFLOP/s on an H200: 165 TFLOP/s; and the splitting before.
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
