/// The last wave of tiles leaves multiprocessors idle: at N = 3000, 144 pairs of tiles fill 66 clusters 2.2 times,
/// which takes as long as 3 times. So the tiles of the last, partial wave are divided along k into enough parts for all
/// clusters: 12 pairs into five. The sums of a tile's parts pass through L2, 128 KB per block, and each part's block
/// adds and stores a part of the columns.
///
/// Stream-K gives each cluster an equal share of all steps of the last two waves, which balances better. But each share
/// then begins elsewhere in k, so that at any time all of A and B is read, instead of a few rows and columns. Where A
/// and B do not fit into L2, DRAM then limits the rate, and stream-K can be slower than whole waves. Parts with equal
/// steps in k, computed at the same time, share them in L2.
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
      .idea = "The tiles of the last, partial wave are divided along k, so that every cluster has a part.",
      .source = {{"osama2023"}},
  });
}

const bool added = add<Type::bf16>("gpu/matmul/wgmma_split_tail_bf16") &&
                   add<Type::fp16>("gpu/matmul/wgmma_split_tail_fp16") &&
                   add<Type::tf32>("gpu/matmul/wgmma_split_tail_tf32");

}  // namespace
}  // namespace rung
