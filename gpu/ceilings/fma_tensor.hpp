/// Shared by the ceilings of tensor cores: their launch and their record. The kernel is in fma_tensor_kernel.hpp.
#pragma once

#include "common/machine/device_facts.hpp"
#include "common/problem/fma_tiles.hpp"
#include "gpu/simt/simt.hpp"

namespace rung::fma_tensor {

constexpr int kGroups = 2;              // warpgroups of a block
constexpr int kRows = 64, kCols = 256;  // of a product
constexpr int kChainsOfGroup = kRows / kTileRows * kCols / kTileCols;
constexpr int kChainsOfBlock = kGroups * kChainsOfGroup;
constexpr int kStepBytes = 64;  // per step, along k

}  // namespace rung::fma_tensor

#if defined(RUNG_SM90A)  // defined for files compiled by nvcc for sm_90a
#include "gpu/ceilings/fma_tensor_kernel.hpp"
#else
namespace rung::fma_tensor {
inline namespace absent {  // distinct from the GPU build of the same file, which is linked into the same program

template <Type kType>
void run(const Call&) {
  throw Error("this program has no code for sm_90a: build it with CUDA 12.5 or later and CMAKE_CUDA_ARCHITECTURES=90");
}

}  // namespace absent
}  // namespace rung::fma_tensor
#endif

namespace rung::fma_tensor {
namespace {

template <Type kType>
bool add(const char* name, const char* label, int iterations) {
  return add_gpu_kernel({
      .name = name,
      .order = 20,
      .title = label,
      .idea = "Products in shared memory whose sums stay in registers keep the tensor cores busy in every clock.",
      .source = {{"ptx-isa", "wgmma"}},
      .type = kType,
      .ceiling = Ceiling{label, false},
      .sizes =
          [=] {
            return Params{{"chains", std::int64_t{gpu_facts().sm_count} * kChainsOfBlock}, {"iterations", iterations}};
          },
      .gpu = {.min_compute_capability = 90,
              .not_emulated = "wgmma is an instruction of compute capability 9.0",
              .launch =
                  [](const Params& p) {
                    return Launch{{blocks_for(p.at("chains"), kChainsOfBlock)}, {kGroups * 128}};
                  },
              .requested =
                  [](const Params& p) {
                    const double sums = 4.0 * kTileSums * p.at("chains");
                    const double factors = (kRows + 2.0 * kCols) * kStepBytes;  // per block
                    return Traffic{.loaded = sums + factors * blocks_for(p.at("chains"), kChainsOfBlock),
                                   .stored = sums};
                  }},
      .run = run<kType>,
  });
}

}  // namespace
}  // namespace rung::fma_tensor
