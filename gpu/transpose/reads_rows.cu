/// Naive, reading along rows: a warp loads 128 bytes in a row, four sectors, and stores down a column, one sector per
/// lane. L2 merges the stores of a block's warps to the same sector, but every store request takes 32 sectors on the
/// path from the multiprocessor. Floor: 8 bytes per element over the bandwidth of a copy.
#include "gpu/transpose/element.hpp"

namespace rung {
namespace {

__global__ void transpose_reads_rows(const mem<float>* a, mem<float>* b, int rows, int cols) {
  const int col = blockIdx.x * blockDim.x + threadIdx.x;
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row < rows && col < cols) b[std::int64_t{col} * rows + row] = a[std::int64_t{row} * cols + col];
}

const bool added = add_gpu_kernel({
    .name = "gpu/transpose/reads_rows",
    .order = 10,
    .title = "naive, reads rows",
    .idea = "One thread for each element: a warp reads along a row of A and writes down a column of B.",
    .source = {{"harris2013transpose"}, {"ruetsch2009"}, {"blakely", "coalescence"}},
    .tunables = {block_shapes()},
    .gpu = {.launch = [](const Params& p) { return cover(p, p.at("n"), p.at("m")); }, .requested = transpose_traffic},
    .run =
        [](const Call& call) {
          launch(call, transpose_reads_rows, call.operand<const mem<float>>(0), call.operand<mem<float>>(1),
                 static_cast<int>(call.params.at("m")), static_cast<int>(call.params.at("n")));
        },
});

}  // namespace
}  // namespace rung
