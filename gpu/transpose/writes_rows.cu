/// Naive, writing along rows: a warp stores 128 bytes in a row and loads down a column. The sectors that it loads have
/// eight elements each, and other warps of the block soon request the other seven: L1 serves these requests, but it
/// cannot serve the scattered stores of the kernel that reads along rows. Expect a higher rate than that kernel's.
#include "gpu/transpose/element.hpp"

namespace rung {
namespace {

__global__ void transpose_writes_rows(const mem<float>* a, mem<float>* b, int rows, int cols) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  const int col = blockIdx.y * blockDim.y + threadIdx.y;
  if (row < rows && col < cols) b[std::int64_t{col} * rows + row] = a[std::int64_t{row} * cols + col];
}

const bool added = add_gpu_kernel({
    .name = "gpu/transpose/writes_rows",
    .order = 20,
    .title = "naive, writes rows",
    .idea = "One thread for each element: a warp reads down a column of A and writes along a row of B.",
    .source = {{"ruetsch2009"}, {"blakely", "coalescence"}},
    .tunables = {block_shapes()},
    .gpu = {.launch = [](const Params& p) { return cover(p, p.at("m"), p.at("n")); }, .requested = transpose_traffic},
    .run =
        [](const Call& call) {
          launch(call, transpose_writes_rows, call.operand<const mem<float>>(0), call.operand<mem<float>>(1),
                 static_cast<int>(call.params.at("m")), static_cast<int>(call.params.at("n")));
        },
});

}  // namespace
}  // namespace rung
