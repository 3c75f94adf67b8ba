/// A block for each multiprocessor computes tile after tile: its loads run ahead into the next tile while the sums of
/// the last one are stored, and tiles are taken in groups of rows, so that blocks at work at the same time share what
/// L2 holds. Source: CUTLASS, persistent kernels and tile rasterisation.
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
      .idea = "One block for each multiprocessor loads the next tile while it stores the last one; tiles go in groups "
              "that L2 holds.",
  });
}

const bool added = add<Type::bf16>("gpu/matmul/wgmma_persistent_bf16") &&
                   add<Type::fp16>("gpu/matmul/wgmma_persistent_fp16") &&
                   add<Type::tf32>("gpu/matmul/wgmma_persistent_tf32");

}  // namespace
}  // namespace rung
