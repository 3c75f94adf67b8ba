/// Whole numbers of 8 bits, twice as many in a step as of 16 bits, with int32 sums: the shapes and the choice among
/// them are the same, since a step has the same bytes and takes as long. Only rows of k can be read, of A and of B.
/// Floor: operations over the peak, 1979 Tera-operations a second on an H200: 69 us at N = 4096, where writing C takes
/// another 16 us of memory that tiles of other blocks hide. Source: NVIDIA PTX ISA, wgmma with .s8; CUTLASS.
#include "gpu/matmul/wgmma_shapes.hpp"

namespace rung {
namespace {

const bool added = wgmma::add_choice<Type::int8, wgmma::kWholeShapes>({
    .name = "gpu/matmul/wgmma_top_int8",
    .order = 380,
    .title = "wgmma, top",
    .idea = "Steps of the same bytes hold twice as many 8-bit numbers as 16-bit ones; sums are int32 and exact.",
});

}  // namespace
}  // namespace rung
