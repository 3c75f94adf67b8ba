/// The oracle of the box blur: sums of windows as differences of a summed-area table in float64, which no kernel here
/// uses, at a cost that does not depend on the radius. On whole numbers the sums are exact, and only the mean is
/// rounded.
#include "common/problem/blur.hpp"

#include <fmt/core.h>

#include <cmath>
#include <memory>
#include <numbers>

#include "common/problem/problem.hpp"

namespace rung {
namespace {

constexpr int kStrip = 256;   // columns whose part of the table a thread keeps at a time
constexpr int kPicture = 96;  // rows and columns up to which a picture's pixels are reported
constexpr double kMeanRoundings =
    8;  // of a mean whose sum is exact: reciprocals, their product, the mean, the oracle's

/// Of real pixels: how many additions may leave their rounding error in a sum, each an error of a sum as large as a
/// whole window's. A running sum down leaves 2 kBlurRestart; one across leaves as many, or up to 3000 if it is made in
/// vectors; a difference of two prefix sums over 128 columns leaves up to 20 x 128, at radius 0.
constexpr double kAdditions = 4096;

// ---- Sizes ----

Params complete(const Params& given) {
  const std::int64_t radius = given.get("radius", 4);
  if (radius < 0 || radius > kBlurRadiusLimit)
    throw Error(fmt::format("size radius = {} is outside 0..{}", radius, kBlurRadiusLimit));
  return {{"m", positive_size(given, "m", "n", kBlurSideLimit)},
          {"n", positive_size(given, "n", "n", kBlurSideLimit)},
          {"radius", radius}};
}

Params brief(const Params& sizes) {
  Params shown;
  if (sizes.at("m") != sizes.at("n")) shown.set("m", sizes.at("m"));
  for (const char* name : {"n", "radius"}) shown.set(name, sizes.at(name));
  return shown;
}

std::vector<Operand> operands(const Params& sizes) {
  const auto pixels = static_cast<std::size_t>(sizes.at("m") * sizes.at("n"));
  return {{.name = "x", .elements = pixels}, {.name = "y", .elements = pixels, .role = Role::output}};
}

// ---- Inputs ----

const DataSet kPictureData{.name = "picture", .what = "grey values from 0 to 255: rings, a chessboard, lines, a ramp"};

/// Brightness from 0 to 1 of the test picture at a place in it, both coordinates from 0 to 1.
double brightness(double y, double x) {
  if (y > 0.8) return x;                                                                     // a ramp
  if (x < 0.5 && y < 0.4) return (static_cast<int>(x * 24) + static_cast<int>(y * 24)) % 2;  // a chessboard
  if (x < 0.5) return static_cast<int>(std::pow(2.0, 2 + 6 * x) * 2 * x) % 2;                // lines, ever finer
  const double square = std::pow(x - 0.75, 2) + std::pow(y - 0.4, 2);
  return 0.5 + 0.5 * std::cos(200 * std::numbers::pi * square);  // rings, ever finer
}

void fill_inputs(const Params& sizes, const DataSet& data, std::uint64_t seed, std::span<void* const> host) {
  const BlurImage image = blur_image(sizes);
  auto* x = static_cast<float*>(host[0]);
  if (data.name != kPictureData.name) return fill_float({x, operands(sizes)[0].elements}, data, seed);
#pragma omp parallel for
  for (int row = 0; row < image.rows; ++row)
    for (int col = 0; col < image.cols; ++col)
      x[std::int64_t{row} * image.cols + col] =
          static_cast<float>(std::round(255 * brightness((row + 0.5) / image.rows, (col + 0.5) / image.cols)));
}

// ---- The oracle ----

/// The last rows of a summed-area table over some columns: at(row)[i] is the sum of all pixels above `row` in the first
/// i columns.
class Table {
 public:
  Table(int rows, int cols) : rows_(rows), pitch_(cols + 1), sums_(std::size_t(rows) * pitch_) {}
  double* at(int row) { return &sums_[std::size_t(row % rows_) * pitch_]; }

  /// Row `row` + 1 from row `row` and that row's pixels.
  void extend(int row, const float* pixels) {
    const double* above = at(row);
    double* sums = at(row + 1);
    double line = 0;
    sums[0] = 0;
    for (int i = 0; i + 1 < pitch_; ++i) {
      line += pixels[i];
      sums[i + 1] = above[i + 1] + line;
    }
  }

 private:
  int rows_, pitch_;
  std::vector<double> sums_;
};

/// The means of columns `begin` to `end`, rounded to float32.
void blur_strip(const BlurImage& g, const float* x, int begin, int end, float* want) {
  const int first = std::max(begin - g.radius, 0), last = std::min(end + g.radius, g.cols);
  Table table(2 * g.radius + 2, last - first);
  int known = 0;  // rows in the table
  for (int row = 0; row < g.rows; ++row) {
    const int top = std::max(row - g.radius, 0), bottom = std::min(row + g.radius + 1, g.rows);
    for (; known < bottom; ++known) table.extend(known, x + std::int64_t{known} * g.cols + first);
    const double *above = table.at(top), *below = table.at(bottom);
    for (int col = begin; col < end; ++col) {
      const int left = std::max(col - g.radius, 0) - first, right = std::min(col + g.radius + 1, g.cols) - first;
      const double sum = (below[right] - below[left]) - (above[right] - above[left]);
      want[std::int64_t{row} * g.cols + col] =
          static_cast<float>(sum / (static_cast<double>(bottom - top) * (right - left)));
    }
  }
}

std::vector<float> blurred(const BlurImage& g, const float* x) {
  std::vector<float> want(static_cast<std::size_t>(g.rows) * g.cols);
#pragma omp parallel for schedule(dynamic)
  for (int begin = 0; begin < g.cols; begin += kStrip)
    blur_strip(g, x, begin, std::min(begin + kStrip, g.cols), want.data());
  return want;
}

double largest_value(const float* x, std::int64_t pixels) {
  float largest = 0;
#pragma omp parallel for reduction(max : largest)
  for (std::int64_t i = 0; i < pixels; ++i) largest = std::max(largest, std::abs(x[i]));
  return largest;
}

/// Reports every pixel of a small picture, "y[3][17]", so that the report shows what a kernel computed.
void tell_pixels(const BlurImage& g, const float* y, Check& check) {
  for (int row = 0; row < g.rows; ++row)
    for (int col = 0; col < g.cols; ++col) check.judged[fmt::format("y[{}][{}]", row, col)] = y[row * g.cols + col];
}

/// In addition to the verdict, max_error: the largest error over the image's largest value.
Judge reference(const Params& sizes, const DataSet& data, std::uint64_t, std::span<const void* const> host) {
  const BlurImage g = blur_image(sizes);
  const auto* x = static_cast<const float*>(host[0]);
  const std::int64_t pixels = std::int64_t{g.rows} * g.cols;
  const double largest = largest_value(x, pixels), side = 2 * g.radius + 1;
  const double gamma = gamma_fp32(kMeanRoundings);
  const double sums = data.is_exact ? 0 : gamma_fp32(kAdditions) * largest * side * side;
  const bool is_told = data.name == kPictureData.name && std::max(g.rows, g.cols) <= kPicture;
  auto want = std::make_shared<const std::vector<float>>(blurred(g, x));
  return [=](std::span<const void* const> outputs) {
    const auto* y = static_cast<const float*>(outputs[1]);
    Check check = compare_in_order("y", y, pixels, g.cols, [&](std::int64_t begin) {
      const auto row = static_cast<int>(begin / g.cols);
      return [&, begin, near_rows = double(pixels_near(row, g.rows, g.radius))](std::int64_t i) {
        const double near = near_rows * pixels_near(static_cast<int>(i - begin), g.cols, g.radius), mean = (*want)[i];
        return Expected{mean, sums / near + gamma * std::abs(mean)};
      };
    });
    double error = 0;
#pragma omp parallel for reduction(max : error)
    for (std::int64_t i = 0; i < pixels; ++i) error = std::max(error, std::abs(double{y[i]} - (*want)[i]));
    if (largest > 0) check.judged["max_error"] = error / largest;
    if (is_told) tell_pixels(g, y, check);
    return check;
  };
}

const bool added = add_problem({
    .family = "blur",
    .title = "Box blur of an image",
    .metric = {.key = "gpixels_per_s", .unit = "GPixel/s", .amount = blur_pixels},
    .data = {integers(), random_reals(), kPictureData},
    .size_names = {"n", "m", "radius"},
    .size_what = {{"radius", "pixels of radius"}},
    .test_sizes = {{{"n", 1}, {"radius", 3}},
                   {{"m", 1}, {"n", 131}, {"radius", 2}},
                   {{"m", 150}, {"n", 1}, {"radius", 5}},
                   {{"m", 21}, {"n", 33}, {"radius", 32}},
                   {{"m", 37}, {"n", 53}, {"radius", 6}},
                   {{"n", 48}, {"radius", 0}},
                   {{"m", 40}, {"n", 64}, {"radius", 8}},
                   {{"m", 70}, {"n", 92}, {"radius", 32}},
                   {{"m", 9}, {"n", 1021}, {"radius", 3}},
                   {{"m", 12}, {"n", 1300}, {"radius", 15}},
                   {{"m", 1101}, {"n", 8}, {"radius", 1}}},
    .complete = complete,
    .brief = brief,
    .operands = operands,
    .flops = blur_pixels,
    .fill = fill_inputs,
    .reference = reference,
});

}  // namespace
}  // namespace rung
