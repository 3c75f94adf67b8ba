/// The box is separable: one launch adds up 2 R + 1 pixels along each row, a second launch 2 R + 1 of these sums down
/// each column. 2 (2 R + 1) additions per pixel instead of (2 R + 1)^2; the price is a second field, written and read
/// again: 16 bytes per pixel through DRAM instead of 8, a floor twice as high. The rate falls with the radius.
/// Source: McDonnell, Box-filtering techniques, 1981 (rows, then columns).
#include "gpu/blur/window.hpp"

namespace rung {
namespace {

__global__ void blur_rows(const mem<float>* x, mem<float>* sums, BlurImage g) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  const int col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= g.rows || col >= g.cols) return;
  const Window across = window_at(col, g.cols, g.radius);
  const mem<float>* const line = x + row_at(row, g);
  reg<float> sum = 0;
  for (int c = across.first; c < across.end; ++c) sum += line[c];
  sums[row_at(row, g) + col] = sum;
}

__global__ void blur_columns(const mem<float>* sums, mem<float>* y, BlurImage g) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  const int col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= g.rows || col >= g.cols) return;
  const Window down = window_at(row, g.rows, g.radius);
  reg<float> sum = 0;
  for (int r = down.first; r < down.end; ++r) sum += sums[row_at(r, g) + col];
  y[row_at(row, g) + col] = sum / static_cast<float>(pixels_of(down) * pixels_of(window_at(col, g.cols, g.radius)));
}

const bool added = add_gpu_kernel({
    .name = "gpu/blur/separable",
    .order = 30,
    .title = "separable",
    .idea = "Sums along the rows in one launch, sums of these down the columns in a second one.",
    .source = {{"mcdonnell1981"}, {"pmpp", "section 3.3"}},
    .tunables = {{"block", blur_blocks()}},
    .scratch =
        [](const Params& p) {
          return std::vector<Operand>{{.name = "sums along the rows",
                                       .elements = static_cast<std::size_t>(blur_pixels(p)),
                                       .role = Role::scratch}};
        },
    .gpu = {.launch = thread_per_pixel,
            .requested =
                [](const Params& p) {
                  const auto rows = static_cast<double>(p.at("m")), cols = static_cast<double>(p.at("n"));
                  const std::int64_t radius = p.at("radius");
                  const double loads =
                      rows * sum_of_windows(p.at("n"), radius) + cols * sum_of_windows(p.at("m"), radius);
                  return Traffic{.loaded = 4 * loads, .stored = 8 * blur_pixels(p)};
                }},
    .run =
        [](const Call& call) {
          const BlurImage image = blur_image(call.params);
          auto* const sums = call.operand<mem<float>>(2);
          launch(call, blur_rows, call.operand<const mem<float>>(0), sums, image);
          launch(call, blur_columns, static_cast<const mem<float>*>(sums), call.operand<mem<float>>(1), image);
        },
});

}  // namespace
}  // namespace rung
