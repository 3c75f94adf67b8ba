/// "blur": the box blur of an image: every pixel becomes the mean of the pixels that are at most R rows and R columns
/// away from it. At the edges the window is clipped: the mean is over the pixels that exist.
///
/// Sizes     n: columns; m: rows, n if not given; up to 65535 each, so that the place of a pixel needs 64 bits.
///           radius: R, from 0 (the image itself) to 32; 4 if not given.
/// Operand 0 `x`, input: m x n float32, one channel, row by row.
/// Operand 1 `y`, output: m x n float32.
/// Useful operations: 1 per pixel, since each is added to a sum at least once. Further operations are the price of a
/// kernel's method: the textbook's loop makes (2 R + 1)^2 additions per pixel. The division is not counted, as in
/// hardware. Compulsory bytes: x read once, y written once, 8 bytes per pixel at every radius.
#pragma once

#include <algorithm>
#include <cstdint>

#include "common/registry.hpp"

namespace rung {

constexpr std::int64_t kBlurSideLimit = 65535;
constexpr std::int64_t kBlurRadiusLimit = 32;

/// A running sum, to which the next pixel is added and from which the last one is subtracted, accumulates the rounding
/// errors of all pixels so far. Kernels restart it after this many rows.
constexpr int kBlurRestart = 512;

struct BlurImage {
  int rows = 0, cols = 0, radius = 0;
};

inline BlurImage blur_image(const Params& p) {
  return {.rows = static_cast<int>(p.at("m")),
          .cols = static_cast<int>(p.at("n")),
          .radius = static_cast<int>(p.at("radius"))};
}

inline double blur_pixels(const Params& p) { return static_cast<double>(p.at("m")) * static_cast<double>(p.at("n")); }

/// How many of n pixels on a line are at most `radius` away from pixel `at`.
inline int pixels_near(int at, int n, int radius) {
  return std::min(at + radius, n - 1) - std::max(at - radius, 0) + 1;
}

/// The same for all pixels of the line together.
inline double sum_of_windows(std::int64_t n, std::int64_t radius) {
  double sum = 0;
  for (int at = 0; at < n; ++at) sum += pixels_near(at, static_cast<int>(n), static_cast<int>(radius));
  return sum;
}

}  // namespace rung
