/// The last wave of tiles leaves multiprocessors idle: at N = 3000, 144 pairs of tiles fill 66 clusters 2.2 times and
/// take as long as 3 times. So the tiles of the last, partial wave are divided along k into so many parts that all
/// clusters have some: 12 pairs into five. The sums of a tile's parts pass through L2, 128 KB for a block, and each
/// part's block adds and stores a part of the columns.
///
/// Stream-K gives each cluster an equal share of all steps of the last two waves, which balances better. But each share
/// then begins elsewhere in k, so that at any time all of A and B is read, in place of a few rows and columns: where
/// these do not fit into L2, DRAM sets the pace. On an H100 a product of 2048 x 5120 x 5120 had 614 TFLOP/s by whole
/// waves (2.4, as three) and 518 by stream-K. Parts of equal steps in k, taken at the same time, share them in L2.
/// Floor: as for the staggered warpgroups, for any number of tiles.
/// Source: Osama, Merrill, Cecka, Garland, Owens: Stream-K, PPoPP 2023.
#include "gpu/matmul/wgmma/engine/wgmma_shapes.hpp"

namespace rung {
namespace {

constexpr wgmma::Shape kShape = wgmma::in_turn(wgmma::staged(wgmma::split_tail(wgmma::large(256))));

template <Type kType>
bool add(const char* name) {
  return wgmma::add_rung<kType, kShape>({
      .name = name,
      .order = 365,
      .title = "wgmma, split tail",
      .idea = "The tiles of the last, partial wave are divided along k, so that all clusters have a part of them.",
      .source = {{"osama2023"}},
  });
}

const bool added = add<Type::bf16>("gpu/matmul/wgmma_split_tail_bf16") &&
                   add<Type::fp16>("gpu/matmul/wgmma_split_tail_fp16") &&
                   add<Type::tf32>("gpu/matmul/wgmma_split_tail_tf32");

}  // namespace
}  // namespace rung
