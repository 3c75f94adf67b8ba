/// Clusters of two blocks, one below the other, need the same tile of B: each loads a half of it, which TMA multicasts
/// into the shared memory of both. A block of 128 x 256 alone asks L2 for 48 bytes in each clock that its tensor cores
/// take, more than L2 gives; two together ask for 32 each. Source: NVIDIA PTX ISA, multicast; CUTLASS, thread block
/// clusters.
#include "gpu/matmul/wgmma.hpp"

namespace rung {
namespace {

constexpr wgmma::Shape kShape{.groups = 2, .stages = 4, .persistent = true, .cluster = 2};

/// What TMA cannot read.
std::string refuse(const Params& p) {
  const auto [m, n, k] = matmul_shape(p);
  return k % 8 || n % 8 ? "takes rows of A and of B that begin at multiples of 16 bytes: n and k divisible by 8" : "";
}

template <Type kType>
bool add_matmul_wgmma_cluster(const char* name) {
  return add_gpu_kernel({
      .name = name,
      .order = 350,
      .title = "wgmma, clusters",
      .idea = "Two blocks share each tile of B: each loads a half, and TMA writes it into both, so L2 is read less.",
      .source = {{"ptx-isa", "wgmma"}, {"cutlass", "warp specialisation"}},
      .type = kType,
      .refuse = refuse,
      .gpu = {.min_compute_capability = 90,
              .not_emulated = wgmma::kNotEmulated,
              .launch = [](const Params& p) { return wgmma::launch_of(kShape, p); },
              .requested = [](const Params& p) { return wgmma::traffic_of(kShape, p); }},
      .run =
          [](const Call& call) {
            wgmma::run<kType, kShape.groups, kShape.stages, kShape.persistent, kShape.cluster>(call);
          },
  });
}

const bool added = add_matmul_wgmma_cluster<Type::bf16>("gpu/matmul/wgmma_cluster_bf16") &&
                   add_matmul_wgmma_cluster<Type::fp16>("gpu/matmul/wgmma_cluster_fp16");

}  // namespace
}  // namespace rung
