/// Whole numbers of 8 bits, twice as many in a step as of 16 bits, with int32 sums: the tiles and the choice among them
/// are the same, since a step has the same bytes and takes as long. But an element of C still has 4 bytes, so its share
/// of the time doubles: a warp writes its sums into shared memory, and TMA stores them while the warp continues to
/// multiply. Tensor cores read A and B only by rows of k: matrices stored otherwise are transposed first.
/// Floor: operations over the peak, 1979 TOP/s on an H200: 69 us at N = 4096. Source: NVIDIA PTX ISA, wgmma with .s8;
/// CUTLASS, epilogues.
#include "gpu/matmul/wgmma/engine/wgmma_shapes.hpp"

namespace rung {
namespace {

const bool added = wgmma::add_choice<Type::int8>(
    {
        .name = "gpu/matmul/wgmma_top_int8",
        .order = 380,
        .title = "wgmma, top",
        .idea = "Steps of the same bytes hold twice as many 8-bit numbers as 16-bit ones; sums are int32 and exact.",
    },
    {wgmma::compiled<Type::int8, wgmma::kWholeShapes>()});

}  // namespace
}  // namespace rung
