/// Shared by the GPU's kernels of the box blur. In an unnamed namespace, so that each of the three builds of a kernel's
/// file has its own copy.
#pragma once

#include "common/problem/blur.hpp"
#include "gpu/simt/simt.hpp"

namespace rung {
namespace {

/// The pixels of a line from `first` to `end` - 1 that are at most `radius` away from pixel `at`.
struct Window {
  int first = 0, end = 0;
};

__device__ __forceinline__ Window window_at(int at, int n, int radius) {
  return {at > radius ? at - radius : 0, at + radius + 1 < n ? at + radius + 1 : n};
}

__device__ __forceinline__ int pixels_of(const Window& window) { return window.end - window.first; }

/// Where a row begins.
__device__ __forceinline__ std::int64_t row_at(int row, const BlurImage& g) { return std::int64_t{row} * g.cols; }

struct BlurBlock {
  unsigned cols, rows;
};
constexpr BlurBlock kBlurBlocks[] = {{32, 8}, {64, 4}, {128, 2}, {256, 1}, {16, 16}};

/// Blocks of 256 pixels, in words for a tunable; one thread per pixel.
inline std::vector<Value> blur_blocks() { return words({"32x8", "64x4", "128x2", "256x1", "16x16"}); }

inline Launch thread_per_pixel(const Params& p) {
  const auto [cols, rows] = kBlurBlocks[p.at("block")];
  return {{blocks_for(p.at("n"), cols), blocks_for(p.at("m"), rows)}, {cols, rows}};
}

/// The pixels of a line of n that are loaded in pieces of `size` pixels with a halo of `before` and `after` pixels.
inline double pixels_of_pieces(std::int64_t n, std::int64_t size, std::int64_t before, std::int64_t after) {
  double pixels = 0;
  for (std::int64_t first = 0; first < n; first += size)
    pixels += static_cast<double>(std::min(n, first + size + after) - std::max<std::int64_t>(0, first - before));
  return pixels;
}

}  // namespace
}  // namespace rung
