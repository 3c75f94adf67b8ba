/// A warpgroup multiplies tiles of 64 x 16 and 16 x 256 straight out of shared memory, asynchronously: nothing passes
/// through registers except the sums. TMA fills a ring of four stages. One block per tile.
/// Source: NVIDIA PTX ISA, wgmma; CUTLASS, warp-specialised kernels.
#include "gpu/matmul/wgmma/engine/wgmma.hpp"

namespace rung {
namespace {

constexpr wgmma::Shape kShape{.groups = 2, .stages = 4, .persistent = false, .cluster = 1};

template <Type kType>
bool add(const char* name) {
  return wgmma::add_rung<kType, kShape>({
      .name = name,
      .order = 330,
      .title = "wgmma",
      .idea = "Warpgroups multiply straight out of shared memory, which TMA fills: no fragments in registers.",
  });
}

const bool added = add<Type::bf16>("gpu/matmul/wgmma_bf16") && add<Type::fp16>("gpu/matmul/wgmma_fp16") &&
                   add<Type::tf32>("gpu/matmul/wgmma_tf32");

}  // namespace
}  // namespace rung
