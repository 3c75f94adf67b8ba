/// TF32, a float32 with 10 bits of mantissa: half the rate of 16 bits, with the same bytes in a step. Tensor cores read
/// A and B only by rows of k: matrices stored otherwise are transposed first.
/// Floor: operations over the peak, 495 TFLOP/s on an H200: 278 us at N = 4096.
/// Source: NVIDIA PTX ISA, wgmma with .tf32; CUTLASS.
#include "gpu/matmul/wgmma/engine/wgmma_shapes.hpp"

namespace rung {
namespace {

const bool added = wgmma::add_choice<Type::tf32>(
    {
        .name = "gpu/matmul/wgmma_top_tf32",
        .order = 380,
        .title = "wgmma, top",
        .idea =
            "Tensor cores read float32 with 10 bits of mantissa; a call takes the shape with the least expected time.",
    },
    {wgmma::compiled<Type::tf32, wgmma::kWholeShapes>()});

}  // namespace
}  // namespace rung
