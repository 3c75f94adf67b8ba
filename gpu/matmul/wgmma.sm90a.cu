/// A warpgroup multiplies tiles of 64 x 16 and 16 x 256 straight out of shared memory, asynchronously: no fragment
/// passes through registers but the sums. TMA fills a ring of four stages. One block for each tile.
/// Source: NVIDIA PTX ISA, wgmma; CUTLASS, warp-specialised kernels.
#include "gpu/matmul/wgmma.hpp"

namespace rung {
namespace {

constexpr wgmma::Shape kShape{.groups = 2, .stages = 4, .persistent = false, .cluster = 1};

/// What TMA cannot read.
std::string refuse(const Params& p) {
  const auto [m, n, k] = matmul_shape(p);
  return k % 8 || n % 8 ? "takes rows of A and of B that begin at multiples of 16 bytes: n and k divisible by 8" : "";
}

template <Type kType>
bool add_matmul_wgmma(const char* name) {
  return add_gpu_kernel({
      .name = name,
      .order = 330,
      .title = "wgmma",
      .idea = "Warpgroups multiply straight out of shared memory, which TMA fills: no fragments in registers.",
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

const bool added =
    add_matmul_wgmma<Type::bf16>("gpu/matmul/wgmma_bf16") && add_matmul_wgmma<Type::fp16>("gpu/matmul/wgmma_fp16");

}  // namespace
}  // namespace rung
