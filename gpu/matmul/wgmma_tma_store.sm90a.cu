/// A warpgroup that stores from registers waits until the memory system has taken its 64 KB, and a row of C at a time
/// leaves a thread in pieces of 8 bytes. Here it writes boxes of 64 x 32 sums into shared memory, and TMA stores them
/// in rows of 128 bytes. TMA takes about 30 bytes a clock, and a warp that gives it more has to wait: so a warp of the
/// loading warpgroup does that, and the multiplying one goes on as soon as there is room for its last box.
///
/// Expected: of the 6,100 clocks that both warpgroups of a block take to store a tile of 128 x 256 on an H200, those in
/// which two boxes of eight are on their way: 3,900 were measured, 3 % fewer clocks in all at N = 4096. There the card
/// is limited by its power, and its clock falls as the tensor cores rest less. Floor: as for the staggered warpgroups.
/// Source: NVIDIA PTX ISA, cp.async.bulk.tensor; CUTLASS, epilogue by TMA.
#include "gpu/matmul/wgmma_shapes.hpp"

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
