/// FP32's accuracy in BF16: each number is exactly the sum of three terms of 8 bits, so that its nine products with
/// another number's terms are exact as well; only the sums round, once in 16 terms. Tensor cores truncate where FP32
/// rounds: twice the error in a sum of one term, so the problem's bound is doubled, as it is for 16-bit inputs.
/// Floor: nine times the operations over the peak, 989 TFLOP/s on an H200: 110 TFLOP/s; and the splitting before.
/// Source: Henry, Tang, Heinecke 2019.
#include "gpu/matmul/accuracy/wgmma_terms.hpp"

namespace rung {
namespace {

const bool added = wgmma::add_terms<Type::bf16, 9>({
    .name = "gpu/matmul/wgmma_bf16x9",
    .order = 391,
    .title = "BF16×9",
    .idea = "Each float32 is split into three BF16, exactly, and their nine products on tensor cores make up one.",
    .source = {{"henry2019"}, {"blanchard2020"}},
    .error_bound = {.factor = 2},
});

}  // namespace
}  // namespace rung
