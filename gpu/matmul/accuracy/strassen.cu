/// Strassen's product, with fewer operations than the definition (see strassen.hpp), over two kernels: a tiled one as
/// in textbooks, and the fastest. Over the fastest its rate can exceed the roof of FP32, since operations are counted
/// as in the definition. Floor: 7/8 or 49/64 of the operations at the other kernel's rate, and the sums.
#include "gpu/matmul/accuracy/strassen.hpp"

namespace rung {
namespace {

const bool over_warp_tiles = strassen::add_over(
    "gpu/matmul/warp_tiled", {.name = "gpu/matmul/strassen",
                              .order = 160,
                              .title = "Strassen, warp tiles",
                              .idea = "Seven products of sums of blocks replace eight products of blocks."});

const bool over_top = strassen::add_over(
    "gpu/matmul/top",
    {.name = "gpu/matmul/strassen_top",
     .order = 210,
     .title = "Strassen, top",
     .idea = "The products of blocks are as large as most calls, so that the top rung computes each at its full rate.",
     .gpu = {.min_compute_capability = 90}});

}  // namespace
}  // namespace rung
