/// One thread per pixel, which adds up all (2 R + 1)^2 pixels of its window, as in the textbook: one addition for each
/// load of 4 bytes, 0.25 operations per byte at every radius. L1 serves nearly all loads, so the floor is set by L1,
/// not by DRAM: 128 bytes per cycle and multiprocessor. The rate falls with the square of the radius.
/// Source: PMPP 4e, section 3.3.
#include "gpu/blur/window.hpp"

namespace rung {
namespace {

__global__ void blur_naive(const mem<float>* x, mem<float>* y, BlurImage g) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  const int col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= g.rows || col >= g.cols) return;
  const Window down = window_at(row, g.rows, g.radius), across = window_at(col, g.cols, g.radius);
  reg<float> sum = 0;
  for (int r = down.first; r < down.end; ++r)
    for (int c = across.first; c < across.end; ++c) sum += x[row_at(r, g) + c];
  y[row_at(row, g) + col] = sum / static_cast<float>(pixels_of(down) * pixels_of(across));
}

const bool added = add_gpu_kernel({
    .name = "gpu/blur/naive",
    .order = 10,
    .title = "naive",
    .idea = "One thread per pixel, which loads every pixel of its window from global memory.",
    .source = {{"pmpp", "section 3.3"}, {"pmpp3", "figure 4.1"}},
    .tunables = {{"block", blur_blocks()}},
    .gpu = {.launch = thread_per_pixel,
            .requested =
                [](const Params& p) {
                  const std::int64_t radius = p.at("radius");
                  return Traffic{.loaded = 4 * sum_of_windows(p.at("m"), radius) * sum_of_windows(p.at("n"), radius),
                                 .stored = 4 * blur_pixels(p)};
                }},
    .run =
        [](const Call& call) {
          launch(call, blur_naive, call.operand<const mem<float>>(0), call.operand<mem<float>>(1),
                 blur_image(call.params));
        },
});

}  // namespace
}  // namespace rung
