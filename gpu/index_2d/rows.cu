/// One thread per element, x along the rows. A warp of a block that is 32 threads wide requests 128 bytes in a row,
/// four sectors. In a narrower block a warp covers more rows, down to one sector per lane. A block of 4 x 4 is half a
/// warp: the other lanes are idle. Floor: 8 bytes per element over the bandwidth.
#include "gpu/index_2d/block_shape.hpp"

namespace rung {
namespace {

__global__ void index_rows(const mem<float>* a, mem<float>* b, std::int64_t rows, std::int64_t cols) {
  const std::int64_t col = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (col >= cols) return;
  for (std::int64_t row = blockIdx.y * blockDim.y + threadIdx.y; row < rows; row += gridDim.y * blockDim.y)
    b[row * cols + col] = a[row * cols + col] + 1.0f;
}

const bool added = add_gpu_kernel({
    .name = "gpu/index_2d/rows",
    .order = 10,
    .title = "x along rows",
    .idea = "One thread for each element, with neighbours in x on neighbouring elements of a row.",
    .source = {{"imam2022", "kernel with 2D indexing"}, {"blakely", "coalesced example"}},
    .tunables = {index_blocks()},
    .gpu = {.launch = [](const Params& p) { return cover_plane(p, p.at("n"), p.at("m")); },
            .requested = matrix_traffic},
    .run =
        [](const Call& call) {
          launch(call, index_rows, call.operand<const mem<float>>(0), call.operand<mem<float>>(1), call.params.at("m"),
                 call.params.at("n"));
        },
});

}  // namespace
}  // namespace rung
