/// The same accesses as "x along rows", from a launch of one dimension: the thread works out itself which column and
/// row of the block it has, and which block of the grid it is in. A second dimension adds nothing but these labels;
/// here they cost a division, for the row of blocks.
#include "gpu/index_2d/block_shape.hpp"

namespace rung {
namespace {

constexpr unsigned kX = 32, kY = 8;

unsigned blocks_across(const Params& p) { return blocks_for(p.at("n"), kX); }

__global__ void index_relabelled(const mem<float>* a, mem<float>* b, std::int64_t rows, std::int64_t cols,
                                 unsigned across) {
  const std::int64_t col = std::int64_t{blockIdx.x % across} * kX + threadIdx.x % kX;
  const std::int64_t row = std::int64_t{blockIdx.x / across} * kY + threadIdx.x / kX;
  if (row < rows && col < cols) b[row * cols + col] = a[row * cols + col] + 1.0f;
}

const bool added = add_gpu_kernel({
    .name = "gpu/index_2d/relabelled",
    .order = 15,
    .title = "rows, by own labels",
    .idea = "A launch of one dimension whose threads work out column and row themselves, in blocks of 32 x 8.",
    .source = {{"blakely", "general thread blocks and grids"}},
    .gpu =
        {
            .launch =
                [](const Params& p) {
                  return Launch{{blocks_across(p) * blocks_for(p.at("m"), kY)}, {kX * kY}};
                },
            .requested = matrix_traffic,
        },
    .run =
        [](const Call& call) {
          launch(call, index_relabelled, call.operand<const mem<float>>(0), call.operand<mem<float>>(1),
                 call.params.at("m"), call.params.at("n"), blocks_across(call.params));
        },
});

}  // namespace
}  // namespace rung
