/// FP32's accuracy in BF16, without the products that FP32 would round away: each number is exactly the sum of three
/// terms of 8 bits. Three of the nine products of terms are 2^-25 of the first at most. The other six take as long as
/// three of TF32, since BF16 has twice the rate, and are more accurate. Tensor cores truncate where FP32 rounds: twice
/// the error in a sum of one term, so the problem's bound is doubled, as it is for 16-bit inputs.
/// Floor: six times the operations over the peak, 989 TFLOP/s on an H200: 165 TFLOP/s; and the splitting before.
/// Source: Henry, Tang, Heinecke 2019.
#include "gpu/matmul/accuracy/wgmma_terms.hpp"

namespace rung {
namespace {

const bool added = wgmma::add_terms<Type::bf16, 6>({
    .name = "gpu/matmul/wgmma_bf16x6",
    .order = 392,
    .title = "BF16×6",
    .idea = "Of the nine products of BF16 terms, the three that are below FP32's last bit are left out.",
    .source = {{"henry2019"}, {"blanchard2020"}},
    .error_bound = {.factor = 2},
});

}  // namespace
}  // namespace rung
