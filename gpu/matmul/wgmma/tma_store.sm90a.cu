/// A warpgroup that stores from registers waits until the memory system has taken its 64 KB. Here it writes boxes of
/// 64 x 32 sums into shared memory, and TMA stores them. TMA is slower than a warp that issues these stores, so the
/// warp would have to wait. Therefore a warp of the loading warpgroup issues them, and the multiplying warpgroup
/// continues as soon as there is room for its last box.
///
/// Expected: the tensor cores are idle for less time between two tiles, and the product takes fewer clocks. The rate
/// gains less where the card is at its power limit: busier tensor cores lower its clock. Floor: as for the staggered
/// warpgroups.
/// Source: NVIDIA PTX ISA, cp.async.bulk.tensor; CUTLASS, epilogue by TMA.
#include "gpu/matmul/wgmma/engine/wgmma_shapes.hpp"

namespace rung {
namespace {

constexpr wgmma::Shape kShape = wgmma::in_turn(wgmma::staged(wgmma::large(256)));

template <Type kType>
bool add(const char* name) {
  return wgmma::add_rung<kType, kShape>({
      .name = name,
      .order = 362,
      .title = "wgmma, TMA store",
      .idea = "TMA stores the sums from shared memory, issued by a separate warp, while the next tile is multiplied.",
  });
}

const bool added = add<Type::bf16>("gpu/matmul/wgmma_tma_store_bf16") &&
                   add<Type::fp16>("gpu/matmul/wgmma_tma_store_fp16") &&
                   add<Type::tf32>("gpu/matmul/wgmma_tma_store_tf32");

}  // namespace
}  // namespace rung
