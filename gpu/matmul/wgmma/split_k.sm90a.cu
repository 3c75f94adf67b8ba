/// For a small C: it has fewer tiles of 128 x 256 than there are multiprocessors (32 at N = 1024, of 132). Smaller
/// tiles are more numerous, but load more: a tile of r x c needs 2/r + 2/c bytes of L2 for each product. So the blocks
/// of a cluster share a tile of 128 x 128 and divide k among them; each then adds a part of the rows, which it reads
/// from the other blocks' shared memory, in a fixed order. No partial sum passes through memory, and there is one
/// launch, which is set up while the previous kernel ends.
/// Floor: the larger of two times, the operations over the peak and a block's bytes over its share of L2's rate (256 KB
/// at N = 1024 with 64 tiles of 128 x 128, halved); and the time until the first tile has arrived.
/// Source: NVIDIA CUDA C++ Programming Guide, distributed shared memory; Osama and others 2023 on dividing k.
#include "gpu/matmul/wgmma/engine/wgmma_shapes.hpp"

namespace rung {
namespace {

template <Type kType>
bool add(const char* name) {
  return wgmma::add_choice<kType>(
      {
          .name = name,
          .order = 370,
          .title = "wgmma, split k",
          .idea = "The blocks of a cluster divide k and add their sums through each other's shared memory: few tiles "
                  "occupy all multiprocessors.",
          .source = {{"ptx-isa", "mapa, ld.shared::cluster"}, {"osama2023", "data-parallel and split-K"}},
      },
      {wgmma::compiled<kType, wgmma::kSplitShapes>()});
}

const bool added = add<Type::bf16>("gpu/matmul/wgmma_split_k_bf16") && add<Type::fp16>("gpu/matmul/wgmma_split_k_fp16");

}  // namespace
}  // namespace rung
