/// FP8 (E4M3) doubles the rate of 16 bits, but tensor cores of compute capability 9.0 keep about 14 bits of a sum of
/// FP8 products. So each step of 128 in k has separate sums, which ordinary additions then add to others in float32:
/// one warpgroup does this while the other one multiplies. The further sums take registers: tiles are 192 wide, or 256
/// in two halves.
///
/// Floor: operations over the peak, 1979 TFLOP/s on an H200: 69 us at N = 4096.
/// Source: DeepSeek-AI: DeepSeek-V3 Technical Report, 2024, section 3.3.2; CUTLASS, FP8 accumulation.
#include "gpu/matmul/wgmma/engine/wgmma_shapes.hpp"

namespace rung {
namespace {

const bool added = wgmma::add_choice<Type::fp8>(
    {
        .name = "gpu/matmul/wgmma_top_fp8",
        .order = 380,
        .title = "wgmma, top",
        .idea = "Every 128 steps in k, one warpgroup adds its sums in float32 while the other one multiplies.",
        .source = {{"deepseek2024", "section 3.3.2"}, {"cutlass", "FP8 accumulation"}},
    },
    {wgmma::compiled<Type::fp8, wgmma::kPromotedShapes>()});

}  // namespace
}  // namespace rung
