/// The last wave of tiles leaves multiprocessors idle: at N = 8192, 1024 pairs of tiles fill 66 clusters 15.5 times and
/// take as long as 16 times, 3 % more; at N = 5000, 400 pairs take as long as 462. So the tiles of the last, partial
/// wave and of the one before it are divided along k into equal shares, one for each cluster. A share may begin and end
/// within a tile; the cluster with a tile's first steps adds the sums of the others, which pass through L2: 128 KB for
/// a block, written and read once. Floor: as for the staggered warpgroups, for any number of tiles.
/// Source: Osama, Merrill, Cecka, Garland, Owens: Stream-K, PPoPP 2023.
#include "gpu/matmul/wgmma_shapes.hpp"

namespace rung {
namespace {

constexpr wgmma::Shape kShape = wgmma::in_turn(wgmma::staged(wgmma::stream_k(wgmma::large(256))));

template <Type kType>
bool add(const char* name) {
  return wgmma::add_rung<kType, kShape>({
      .name = name,
      .order = 365,
      .title = "wgmma, stream-K",
      .idea = "The last tiles are divided along k, so that all clusters end at the same time.",
      .source = {{"osama2023"}},
  });
}

const bool added = add<Type::bf16>("gpu/matmul/wgmma_stream_k_bf16") &&
                   add<Type::fp16>("gpu/matmul/wgmma_stream_k_fp16") &&
                   add<Type::tf32>("gpu/matmul/wgmma_stream_k_tf32");

}  // namespace
}  // namespace rung
