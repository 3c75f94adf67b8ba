/// One block per multiprocessor computes tile after tile: its loads run ahead into the next tile while the sums of the
/// last one are stored. Tiles are taken in groups of rows, so that concurrent blocks share the contents of L2. Source:
/// CUTLASS, persistent kernels and tile rasterisation.
#include "gpu/matmul/wgmma/engine/wgmma.hpp"

namespace rung {
namespace {

constexpr wgmma::Shape kShape{.groups = 2, .stages = 4, .persistent = true, .cluster = 1};

template <Type kType>
bool add(const char* name) {
  return wgmma::add_rung<kType, kShape>({
      .name = name,
      .order = 340,
      .title = "wgmma, persistent",
      .idea = "One block per multiprocessor loads the next tile while it stores the last one; tiles are taken in "
              "groups that fit into L2.",
  });
}

const bool added = add<Type::bf16>("gpu/matmul/wgmma_persistent_bf16") &&
                   add<Type::fp16>("gpu/matmul/wgmma_persistent_fp16") &&
                   add<Type::tf32>("gpu/matmul/wgmma_persistent_tf32");

}  // namespace
}  // namespace rung
