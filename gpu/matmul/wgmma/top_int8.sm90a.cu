/// Whole numbers of 8 bits, twice as many in a step as of 16 bits, with int32 sums: the tiles and the choice among them
/// are the same, since a step has the same bytes and takes as long. But C keeps its 4 bytes, so that its share of the
/// time doubles: a warp puts its sums into shared memory, from where TMA stores them while the warp multiplies on. Only
/// rows of k can be read, of A and of B: what is stored otherwise is transposed first.
/// Floor: operations over the peak, 1979 Tera-operations a second on an H200: 69 us at N = 4096, and 16 us of memory
/// for C meanwhile. Source: NVIDIA PTX ISA, wgmma with .s8; CUTLASS, epilogues.
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
