/// Strassen's product, with fewer operations than the definition has (strassen.hpp says how), over two kernels: over
/// one of the textbook's kind, and over the fastest of all, which makes it faster than the roof of FP32 if operations
/// are counted as the definition has them. Floor: 7/8 or 49/64 of the operations at the other kernel's rate: over
/// gpu/matmul/top at N = 8192 on an H200 15.5 ms and 0.8 ms for the sums.
#include "gpu/matmul/accuracy/strassen.hpp"

namespace rung {
namespace {

const bool over_warp_tiles = strassen::add_over(
    "gpu/matmul/warp_tiled", {.name = "gpu/matmul/strassen",
                              .order = 160,
                              .title = "Strassen, warp tiles",
                              .idea = "Seven products of sums of blocks take the place of eight products of blocks."});

const bool over_top = strassen::add_over(
    "gpu/matmul/top",
    {.name = "gpu/matmul/strassen_top",
     .order = 210,
     .title = "Strassen, top",
     .idea = "The products of blocks are as large as most calls, so that the top rung computes each at its full rate.",
     .gpu = {.min_compute_capability = 90}});

}  // namespace
}  // namespace rung
