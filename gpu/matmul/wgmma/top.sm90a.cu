/// No shape is best at every size: a large tile needs the fewest bytes of L2 for a product, a small C has too few large
/// tiles, and the last wave of tiles may be nearly empty (at N = 3000, 144 pairs of 128 x 256 fill 66 clusters 2.2
/// times, 192 of 128 x 192 fill them 2.9 times). A call takes the shape with the least expected time:
/// waves x steps x the time of a step by the rates of the tensor cores and of L2, plus the time before and after it.
///
/// This holds for A and B by rows that TMA can read, and C without factors. All other calls take kernels of five
/// shapes: in any layout, since tensor cores read 16-bit numbers by rows of k and by rows of m or n alike; with any
/// factors; and with a copy of rows that TMA cannot read.
///
/// Floor: as for the other rungs. Source: Williams, Waterman, Patterson, Roofline, 2009: the expected time of a step is
/// the larger of two floors.
#include "gpu/matmul/wgmma/engine/wgmma_shapes.hpp"

namespace rung {
namespace {

using enum MatmulLayout;
using wgmma::compiled, wgmma::kAllShapes, wgmma::kWholeShapes;

template <Type kType>
bool add(const char* name) {
  return wgmma::add_choice<kType>(
      {
          .name = name,
          .order = 380,
          .title = "wgmma, top",
          .idea = "Of all compiled shapes a call takes the one with the least expected time.",
          .source = {{"williams2009"}},
      },
      {compiled<kType, kAllShapes>(), compiled<kType, kWholeShapes, nn, true>(),
       compiled<kType, kWholeShapes, nt, true>(), compiled<kType, kWholeShapes, tn, true>()});
}

const bool added = add<Type::bf16>("gpu/matmul/wgmma_top_bf16") && add<Type::fp16>("gpu/matmul/wgmma_top_fp16");

}  // namespace
}  // namespace rung
