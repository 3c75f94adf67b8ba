/// A block for each multiprocessor computes tile after tile: its loads run ahead into the next tile while the sums of
/// the last one are stored, and tiles are taken in groups of rows, so that blocks at work at the same time share what
/// L2 holds. Source: CUTLASS, persistent kernels and tile rasterisation.
#include "gpu/matmul/wgmma.hpp"

namespace rung {
namespace {

constexpr wgmma::Shape kShape{.groups = 2, .stages = 4, .persistent = true, .cluster = 1};

/// What TMA cannot read.
std::string refuse(const Params& p) {
  const auto [m, n, k] = matmul_shape(p);
  return k % 8 || n % 8 ? "takes rows of A and of B that begin at multiples of 16 bytes: n and k divisible by 8" : "";
}

template <Type kType>
bool add_matmul_wgmma_persistent(const char* name) {
  return add_gpu_kernel({
      .name = name,
      .order = 340,
      .title = "wgmma, persistent",
      .idea = "One block for each multiprocessor loads the next tile while it stores the last one; tiles go in groups "
              "that L2 holds.",
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

const bool added = add_matmul_wgmma_persistent<Type::bf16>("gpu/matmul/wgmma_persistent_bf16") &&
                   add_matmul_wgmma_persistent<Type::fp16>("gpu/matmul/wgmma_persistent_fp16");

}  // namespace
}  // namespace rung
