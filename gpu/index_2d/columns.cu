/// The same with the two indices exchanged: x runs down the columns, so that neighbouring lanes are a row apart and
/// each requests a different sector, but needs only 4 of its 32 bytes. The other 28 belong to lanes with a larger y:
/// the loss depends on whether L1 keeps the sector until they request it.
#include "gpu/index_2d/block_shape.hpp"

namespace rung {
namespace {

__global__ void index_columns(const mem<float>* a, mem<float>* b, std::int64_t rows, std::int64_t cols) {
  const std::int64_t row = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  for (std::int64_t col = blockIdx.y * blockDim.y + threadIdx.y; col < cols; col += gridDim.y * blockDim.y)
    b[row * cols + col] = a[row * cols + col] + 1.0f;
}

const bool added = add_gpu_kernel({
    .name = "gpu/index_2d/columns",
    .order = 20,
    .title = "x down columns",
    .idea = "One thread for each element, with neighbours in x on neighbouring rows: the indices of the textbook's "
            "uncoalesced example.",
    .source = {{"blakely", "uncoalesced example"}},
    .tunables = {index_blocks()},
    .gpu = {.launch = [](const Params& p) { return cover_plane(p, p.at("m"), p.at("n")); },
            .requested = matrix_traffic},
    .run =
        [](const Call& call) {
          launch(call, index_columns, call.operand<const mem<float>>(0), call.operand<mem<float>>(1),
                 call.params.at("m"), call.params.at("n"));
        },
});

}  // namespace
}  // namespace rung
