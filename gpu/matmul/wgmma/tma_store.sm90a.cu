/// A warpgroup that stores from registers waits until the memory system has taken its 64 KB. Here it writes boxes of
/// 64 x 32 sums into shared memory, and TMA stores them. TMA takes about 30 bytes a clock, and a warp that gives it
/// more has to wait: so a warp of the loading warpgroup does that, and the multiplying one goes on as soon as there is
/// room for its last box.
///
/// Expected: that the tensor cores rest for less time between two tiles. Where the multiplying warps gave TMA its boxes
/// themselves, a block's sums of a tile were out of the registers after 6,100 clocks on an H200 (128 x 256, N = 4096);
/// with a warp for that, after 3,900, and the product took 3 % fewer clocks. The rate gains less: the card is limited
/// by its power there, and lowers its clock as the tensor cores rest less. Floor: as for the staggered warpgroups.
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
      .idea = "Sums go through shared memory to TMA, which a warp of its own feeds, while the next tile is multiplied.",
  });
}

const bool added = add<Type::bf16>("gpu/matmul/wgmma_tma_store_bf16") &&
                   add<Type::fp16>("gpu/matmul/wgmma_tma_store_fp16") &&
                   add<Type::tf32>("gpu/matmul/wgmma_tma_store_tf32");

}  // namespace
}  // namespace rung
