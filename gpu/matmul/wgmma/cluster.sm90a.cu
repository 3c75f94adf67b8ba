/// Clusters of two blocks, one below the other, need the same tile of B: each loads a half of it, which TMA multicasts
/// into the shared memory of both. A block of 128 x 256 alone requests 48 bytes from L2 in each clock of its tensor
/// cores, more than L2 delivers; a block of a pair requests 32. Source: NVIDIA PTX ISA, multicast; CUTLASS, thread
/// block clusters.
#include "gpu/matmul/wgmma/engine/wgmma.hpp"

namespace rung {
namespace {

constexpr wgmma::Shape kShape{.groups = 2, .stages = 4, .persistent = true, .cluster = 2};

template <Type kType>
bool add(const char* name) {
  return wgmma::add_rung<kType, kShape>({
      .name = name,
      .order = 350,
      .title = "wgmma, clusters",
      .idea = "Two blocks share each tile of B: each loads a half, and TMA writes it into both, so L2 is read less.",
  });
}

const bool added = add<Type::bf16>("gpu/matmul/wgmma_cluster_bf16") &&
                   add<Type::fp16>("gpu/matmul/wgmma_cluster_fp16") && add<Type::tf32>("gpu/matmul/wgmma_cluster_tf32");

}  // namespace
}  // namespace rung
