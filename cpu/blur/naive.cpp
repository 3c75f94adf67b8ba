/// The textbook's four loops, on one thread: for every pixel all pixels of its window. One addition per load of 4
/// bytes, and each addition waits for the previous one, so its latency limits the rate, far from any bandwidth.
/// Source: PMPP 4e, section 3.3.
#include "common/problem/blur.hpp"

namespace rung {
namespace {

void blur_naive(const BlurImage& g, const float* x, float* y) {
  for (int row = 0; row < g.rows; ++row)
    for (int col = 0; col < g.cols; ++col) {
      const int top = std::max(row - g.radius, 0), bottom = std::min(row + g.radius, g.rows - 1);
      const int left = std::max(col - g.radius, 0), right = std::min(col + g.radius, g.cols - 1);
      float sum = 0;
      for (int r = top; r <= bottom; ++r)
        for (int c = left; c <= right; ++c) sum += x[std::int64_t{r} * g.cols + c];
      y[std::int64_t{row} * g.cols + col] = sum / static_cast<float>((bottom - top + 1) * (right - left + 1));
    }
}

const bool added = add_kernel({
    .name = "cpu/blur/naive",
    .order = 10,
    .title = "naive",
    .idea = "Four loops, over all pixels and over each pixel's window, on one thread.",
    .source = {{"pmpp", "section 3.3"}, {"pmpp3", "figure 4.1"}},
    .cpu = {.is_serial = true},
    .run =
        [](const Call& call) {
          blur_naive(blur_image(call.params), call.operand<const float>(0), call.operand<float>(1));
        },
});

}  // namespace
}  // namespace rung
