/// The oracle of the heat equation: forward Euler in float64 for every cell or, where that would take too long, for
/// windows of the field, whose cells depend on none farther away than there are steps, together with the amplitudes of
/// a few modes, which each step multiplies by a known factor and to which every cell contributes. A sine has a formula.
#include "common/problem/heat.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <numbers>

#include "common/problem/problem.hpp"
#include "common/system_call.hpp"

namespace rung {
namespace {

constexpr std::int64_t kSideLimit = 32768;
constexpr std::int64_t kStepsLimit = std::int64_t{1} << 20;
constexpr std::int64_t kUsualPermille = 230, kLeastPermille = 10;
constexpr double kUnit = 0x1p-24;  // the unit roundoff of float32

constexpr double kFullWork = 0x1p31;     // cells times steps up to which every cell is compared
constexpr double kSampledWork = 0x1p29;  // spent on windows beyond that
constexpr int kTile = 256;               // rows and columns of the field that a thread steps at a time
constexpr int kSharedCells = 1 << 16;    // of a window from which its rows are shared out to threads
constexpr int kWindow = 32;              // rows and columns of a sampled window
constexpr int kMostWindows = 64;

// ---- Sizes ----

Params complete(const Params& given) {
  const auto or_else = [&](const char* name, std::int64_t limit, std::int64_t usual) {
    return given.has(name) ? positive_size(given, name, "", limit) : usual;
  };
  const Params sizes{{"m", positive_size(given, "m", "n", kSideLimit)},
                     {"n", positive_size(given, "n", "n", kSideLimit)},
                     {"steps", or_else("steps", kStepsLimit, 1)},
                     {"permille", or_else("permille", 1000, kUsualPermille)}};
  const std::int64_t permille = sizes.at("permille");
  if (permille < kLeastPermille)
    throw Error(fmt::format("size permille = {} is outside {}..{}", permille, kLeastPermille, kStabilityLimitPermille));
  if (permille > kStabilityLimitPermille)
    throw Error(
        fmt::format("r = dt / h^2 = {:.3f} exceeds 0.25, the stability limit of forward Euler in two "
                    "dimensions: each step would multiply the shortest waves by {:.3f}; give permille = {} or less",
                    permille * 1e-3, 1 - 8e-3 * permille, kStabilityLimitPermille));
  return sizes;
}

Params brief(const Params& sizes) {
  Params shown;
  if (sizes.at("m") != sizes.at("n")) shown.set("m", sizes.at("m"));
  for (const char* name : {"n", "steps"}) shown.set(name, sizes.at(name));
  if (sizes.at("permille") != kUsualPermille) shown.set("permille", sizes.at("permille"));
  return shown;
}

std::vector<Operand> operands(const Params& sizes) {
  const auto cells = static_cast<std::size_t>(heat_cells(sizes));
  return {{.name = "u0", .elements = cells}, {.name = "u", .elements = cells, .role = Role::output}};
}

// ---- Inputs ----

const DataSet kWhole{.name = "integers", .what = "-1, 0 and 1", .is_exact = true};
const DataSet kSine{.name = "sine", .what = "the longest wave: half a sine down and across"};
const DataSet kSpots{.name = "spots", .what = "hot and cold discs"};

/// sin(wave pi (i + 1) / (n + 1)) at the n inner points of a line.
std::vector<double> sine(int n, int wave) {
  std::vector<double> line(n);
  for (int i = 0; i < n; ++i) line[i] = std::sin(std::numbers::pi * wave * (i + 1) / (n + 1));
  return line;
}

/// Sets each cell to value(row, col).
template <typename Function>
void fill_cells(const HeatGrid& grid, float* u, const Function& value) {
#pragma omp parallel for
  for (int row = 0; row < grid.rows; ++row)
    for (int col = 0; col < grid.cols; ++col) u[row * grid.cols + col] = static_cast<float>(value(row, col));
}

void fill_sine(const HeatGrid& grid, float* u) {
  const std::vector<double> down = sine(grid.rows, 1), across = sine(grid.cols, 1);
  fill_cells(grid, u, [&](int row, int col) { return down[row] * across[col]; });
}

/// Two hot discs and a cold one, in parts of the field's height and width.
void fill_spots(const HeatGrid& grid, float* u) {
  struct Disc {
    double row, col, radius, value;
  };
  constexpr Disc kDiscs[] = {{0.32, 0.30, 0.16, 1}, {0.62, 0.70, 0.22, 1}, {0.78, 0.24, 0.12, -1}};
  fill_cells(grid, u, [&](int row, int col) {
    for (const Disc& disc : kDiscs)
      if (std::hypot((row + 0.5) / grid.rows - disc.row, (col + 0.5) / grid.cols - disc.col) < disc.radius)
        return disc.value;
    return 0.0;
  });
}

void fill_inputs(const Params& sizes, const DataSet& data, std::uint64_t seed, std::span<void* const> host) {
  const HeatGrid grid = heat_grid(sizes);
  auto* u = static_cast<float*>(host[0]);
  if (data.name == kSine.name) return fill_sine(grid, u);
  if (data.name == kSpots.name) return fill_spots(grid, u);
  if (!data.is_exact) return fill_float({u, operands(sizes)[0].elements}, data, seed);
  fill_cells(grid, u, [&](int row, int col) {
    return static_cast<double>(random_bits(seed, static_cast<std::uint64_t>(row * grid.cols + col)) % 3) - 1;
  });
}

// ---- Forward Euler in float64 ----

struct Window {
  int top = 0, left = 0, rows = 0, cols = 0;
  std::int64_t cells() const { return std::int64_t{rows} * cols; }
};

/// The window with `margin` cells more on each side, as far as the grid goes.
Window grown(const Window& window, int margin, const HeatGrid& grid) {
  const int top = std::max(window.top - margin, 0), left = std::max(window.left - margin, 0);
  return {top, left, std::min(window.top + window.rows + margin, grid.rows) - top,
          std::min(window.left + window.cols + margin, grid.cols) - left};
}

/// Two fields of one window in float64, with a line of zeros around them.
class Stepper {
 public:
  Stepper(const Window& window, const HeatGrid& grid, const float* u)
      : window_(window), stride_(window.cols + 2), now_(std::size_t(window.rows + 2) * stride_), next_(now_) {
    for (int row = 0; row < window.rows; ++row)
      std::copy_n(u + (window.top + row) * grid.cols + window.left, window.cols, at(now_, row));
  }

  /// Where the window ends within the grid, what is wrong beyond its end comes in by a cell in each step.
  void step(double r) {
#pragma omp parallel for if (window_.cells() > kSharedCells)
    for (int row = 0; row < window_.rows; ++row) {
      const double *north = at(now_, row - 1), *u = at(now_, row), *south = at(now_, row + 1);
      double* next = at(next_, row);
#pragma omp simd
      for (int col = 0; col < window_.cols; ++col)
        next[col] = (1 - 4 * r) * u[col] + r * ((north[col] + south[col]) + (u[col - 1] + u[col + 1]));
    }
    now_.swap(next_);
  }

  /// The part of the field that `inner`, which lies in the window, has of it.
  void copy(const Window& inner, float* to, std::int64_t stride) {
    for (int row = 0; row < inner.rows; ++row)
      std::copy_n(at(now_, inner.top - window_.top + row) + (inner.left - window_.left), inner.cols, to + row * stride);
  }

 private:
  double* at(std::vector<double>& field, int row) { return field.data() + std::size_t(row + 1) * stride_ + 1; }

  Window window_;
  std::size_t stride_;
  std::vector<double> now_, next_;
};

/// The cells of `window` after all steps, rounded to float32.
void step_window(const Params& sizes, const float* u, const Window& window, float* to, std::int64_t stride) {
  const HeatGrid grid = heat_grid(sizes);
  Stepper stepper(grown(window, heat_steps(sizes), grid), grid, u);
  for (int step = 0; step < heat_steps(sizes); ++step) stepper.step(static_cast<double>(sizes.at("permille")) / 1000);
  stepper.copy(window, to, stride);
}

/// The whole field after all steps, tile by tile: tiles stay in a cache, and are so large that the halo, which is
/// computed in addition, is small.
std::vector<float> step_field(const Params& sizes, const float* u) {
  const HeatGrid grid = heat_grid(sizes);
  std::vector<float> want(static_cast<std::size_t>(heat_cells(sizes)));
  const int tile = std::max(kTile, 8 * heat_steps(sizes));
  const int across = (grid.cols + tile - 1) / tile, tiles = across * ((grid.rows + tile - 1) / tile);
  const auto step_tile = [&](int i) {
    const int top = i / across * tile, left = i % across * tile;
    const Window window{top, left, std::min(tile, grid.rows - top), std::min(tile, grid.cols - left)};
    step_window(sizes, u, window, &want[top * grid.cols + left], grid.cols);
  };
  if (tiles == 1) {  // which is shared out row by row, in no parallel region: within one, libgomp starts new threads
    step_tile(0);
    return want;
  }
#pragma omp parallel for schedule(dynamic)
  for (int i = 0; i < tiles; ++i) step_tile(i);
  return want;
}

// ---- The judge of any field ----

/// Whether float32 holds every value that a step meets: it multiplies by 1/4, or by 1/2 and 1/8, so that each of them
/// is a multiple of 4^-steps or 8^-steps, and no sum of four neighbours is beyond 4.
bool is_exact(const Params& sizes, const DataSet& data) {
  const std::int64_t permille = sizes.at("permille"), steps = sizes.at("steps");
  return data.is_exact && ((permille == 250 && steps <= 12) || (permille == 125 && steps <= 8));
}

/// A step rounds what comes from a neighbour at most 8 times, its weight, three or four sums and products of these
/// counted, and never enlarges the largest value. One rounding more is the oracle's own.
double rounding_bound(const Params& sizes, const DataSet& data, double largest) {
  return is_exact(sizes, data) ? 0 : gamma_fp32(8.0 * heat_steps(sizes) + 1) * largest;
}

double largest_value(const float* u, std::int64_t cells) {
  float largest = 0;
#pragma omp parallel for reduction(max : largest)
  for (std::int64_t i = 0; i < cells; ++i) largest = std::max(largest, std::abs(u[i]));
  return largest;
}

/// Windows at the corners of the field and at random places.
std::vector<Window> sampled_windows(const Params& sizes, std::uint64_t seed) {
  const HeatGrid grid = heat_grid(sizes);
  const int rows = std::min(kWindow, grid.rows), cols = std::min(kWindow, grid.cols);
  const Window stepped = grown({grid.rows / 2, grid.cols / 2, rows, cols}, heat_steps(sizes), grid);
  const double affordable = kSampledWork / (static_cast<double>(stepped.cells()) * heat_steps(sizes));
  std::vector<Window> windows;
  for (int i = 0; i < static_cast<int>(std::min(affordable, double{kMostWindows})); ++i) {
    const bool is_corner = i < 4;
    const auto place = [&](int end, int corner, int draw) {
      return is_corner ? corner * end : static_cast<int>(random_bits(seed, 2 * i + draw) % (end + 1));
    };
    windows.push_back({place(grid.rows - rows, i % 2, 0), place(grid.cols - cols, i / 2 % 2, 1), rows, cols});
  }
  return windows;
}

/// One wave of the field, sin(p pi y) sin(q pi x): each step multiplies its amplitude by the same factor.
class Mode {
 public:
  Mode(const Params& sizes, int p, int q, const float* u)
      : grid_(heat_grid(sizes)), p_(p), q_(q), down_(sine(grid_.rows, p)), across_(sine(grid_.cols, q)) {
    const double r = static_cast<double>(sizes.at("permille")) / 1000;
    const double before = amplitude(u), cells = heat_cells(sizes), steps = heat_steps(sizes);
    const double factor = 1 - r * (decay(grid_.rows, p) + decay(grid_.cols, q));
    want_ = before * std::pow(factor, steps);
    // Weights are rounded once, which every cell feels alike in each step; the roundings of values go up and down, and
    // together grow like the root of their number (Higham and Mary, 2019).
    const double alike = steps * std::abs(before) * std::pow(std::abs(factor), steps - 1);
    bound_ = 4 * kUnit * (alike + std::sqrt(steps * cells) * largest_value(u, static_cast<std::int64_t>(cells)));
  }

  Check judge(const float* u) const {
    const double error = std::abs(amplitude(u) - want_);
    Check check{.max_error_ratio = error / bound_};
    if (!(error <= bound_))  // written so that NaN fails
      check.failure =
          fmt::format("the field's wave {} x {} has amplitude {:.9g}, not {:.9g}", p_, q_, amplitude(u), want_);
    return check;
  }

 private:
  /// The part of r of a wave that a step takes away along one side.
  static double decay(int n, int wave) {
    const double half = std::sin(std::numbers::pi * wave / (2.0 * (n + 1)));
    return 4 * half * half;
  }

  double amplitude(const float* u) const {
    double sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int row = 0; row < grid_.rows; ++row) {
      double line = 0;
#pragma omp simd reduction(+ : line)
      for (int col = 0; col < grid_.cols; ++col) line += across_[col] * u[row * grid_.cols + col];
      sum += down_[row] * line;
    }
    return sum;
  }

  HeatGrid grid_;
  int p_, q_;
  std::vector<double> down_, across_;
  double want_ = 0, bound_ = 0;
};

/// The longest wave and three of any length.
std::vector<Mode> sampled_modes(const Params& sizes, std::uint64_t seed, const float* u) {
  const HeatGrid grid = heat_grid(sizes);
  std::vector<Mode> modes{{sizes, 1, 1, u}};
  for (const int divisor : {64, 8, 1}) {  // short waves are gone after a few steps
    const auto wave = [&](int n, int draw) {
      return 1 + static_cast<int>(random_bits(seed, 2 * divisor + draw) % std::max(n / divisor, 1));
    };
    modes.emplace_back(sizes, wave(grid.rows, 0), wave(grid.cols, 1), u);
  }
  return modes;
}

/// The first check that failed, with the largest error ratio of both.
Check worse(const Check& one, const Check& other) {
  Check check = one.failure.empty() ? other : one;
  check.max_error_ratio = std::max(one.max_error_ratio, other.max_error_ratio);
  return check;
}

/// Every cell against the same bound.
Judge judge_all(const Params& sizes, const float* u0, double bound) {
  const auto cells = static_cast<std::int64_t>(heat_cells(sizes));
  auto want = std::make_shared<const std::vector<float>>(step_field(sizes, u0));
  return [=](std::span<const void* const> host) {
    return compare_elements("u", static_cast<const float*>(host[1]), cells, [&](std::int64_t i) {
      return Expected{(*want)[i], bound};
    });
  };
}

/// Windows cell by cell, and the amplitudes of modes, to which every cell adds its part. `seed`: drawn when the first
/// kernel has run.
Judge judge_samples(const Params& sizes, const float* u0, std::uint64_t seed, double bound) {
  const std::vector<Window> windows = sampled_windows(sizes, seed);
  std::vector<std::vector<float>> want(windows.size());
#pragma omp parallel for schedule(dynamic)
  for (std::size_t i = 0; i < windows.size(); ++i) {
    want[i].resize(windows[i].cells());
    step_window(sizes, u0, windows[i], want[i].data(), windows[i].cols);
  }
  return [=, cols = heat_grid(sizes).cols, modes = sampled_modes(sizes, seed, u0)](std::span<const void* const> host) {
    const auto* u = static_cast<const float*>(host[1]);
    Check check;
    for (std::size_t i = 0; i < windows.size(); ++i) {
      const auto& [top, left, window_rows, window_cols] = windows[i];
      std::vector<float> got;
      for (int row = 0; row < window_rows; ++row) {
        const float* line = u + (top + row) * cols + left;
        got.insert(got.end(), line, line + window_cols);
      }
      check = worse(check, compare_elements(fmt::format("u[{}..][{}..]", top, left), got.data(), windows[i].cells(),
                                            [&](std::int64_t k) {
                                              return Expected{want[i][k], bound};
                                            }));
    }
    for (const Mode& mode : modes) check = worse(check, mode.judge(u));
    return check;
  };
}

// ---- The judge of a sine ----

constexpr double kLeastAmplitude = 1e-30;  // of a wave that is not gone

/// The longest wave keeps its shape, so its error shows how far the scheme and the rounding are from the equation:
///   sine_error      largest distance from the equation's solution, over its amplitude then: falls with h^2 if the
///                   time is the same
///   rounding_error  largest distance from what the scheme gives without rounding, likewise
Judge judge_sine(const Params& sizes) {
  const HeatGrid grid = heat_grid(sizes);
  const double r = static_cast<double>(sizes.at("permille")) / 1000, steps = heat_steps(sizes);
  const auto square = [](double x) { return x * x; };
  const double down = 0.5 * std::numbers::pi / (grid.rows + 1), across = 0.5 * std::numbers::pi / (grid.cols + 1);
  const double scheme = std::pow(1 - 4 * r * (square(std::sin(down)) + square(std::sin(across))), steps);
  const double equation = std::exp(-4 * r * (square(down) + square(across)) * steps);
  const double gamma = gamma_fp32(8 * steps + 1);
  return [=, lines = std::pair{sine(grid.rows, 1), sine(grid.cols, 1)}](std::span<const void* const> host) {
    const auto* u = static_cast<const float*>(host[1]);
    const std::int64_t cells = std::int64_t{grid.rows} * grid.cols;
    const auto shape = [&](std::int64_t i) { return lines.first[i / grid.cols] * lines.second[i % grid.cols]; };
    Check check = compare_elements("u", u, cells, [&](std::int64_t i) {
      return Expected{scheme * shape(i), gamma * scheme * shape(i)};  // all terms are positive
    });
    double from_scheme = 0, from_equation = 0;
#pragma omp parallel for reduction(max : from_scheme, from_equation)
    for (std::int64_t i = 0; i < cells; ++i) {
      from_scheme = std::max(from_scheme, std::abs(u[i] - scheme * shape(i)));
      from_equation = std::max(from_equation, std::abs(u[i] - equation * shape(i)));
    }
    if (scheme > kLeastAmplitude)
      check.judged = {{"sine_error", from_equation / equation}, {"rounding_error", from_scheme / scheme}};
    return check;
  };
}

// ---- A picture ----

constexpr int kPictureCells = 64 * 64;

/// Reports every value of a small field of discs, "u[3][17]": a picture of what a kernel computed.
Judge with_picture(const Params& sizes, Judge judge) {
  const HeatGrid grid = heat_grid(sizes);
  if (heat_cells(sizes) > kPictureCells) return judge;
  return [=](std::span<const void* const> host) {
    Check check = judge(host);
    const auto* u = static_cast<const float*>(host[1]);
    for (int row = 0; row < grid.rows; ++row)
      for (int col = 0; col < grid.cols; ++col)
        check.judged[fmt::format("u[{}][{}]", row, col)] = u[row * grid.cols + col];
    return check;
  };
}

Judge reference(const Params& sizes, const DataSet& data, std::uint64_t, std::span<const void* const> host) {
  if (data.name == kSine.name) return judge_sine(sizes);
  const auto* u0 = static_cast<const float*>(host[0]);
  const double cells = heat_cells(sizes);
  const double bound = rounding_bound(sizes, data, largest_value(u0, static_cast<std::int64_t>(cells)));
  const bool is_affordable = cells * heat_steps(sizes) <= kFullWork;
  Judge judge = is_affordable ? judge_all(sizes, u0, bound) : judge_samples(sizes, u0, fresh_bits(), bound);
  return data.name == kSpots.name ? with_picture(sizes, std::move(judge)) : judge;
}

const bool added = add_problem({
    .family = "heat",
    .title = "Heat equation in two dimensions",
    .metric = {.key = "gcells_per_s",
               .unit = "GCell/s",
               .amount = [](const Params& p) { return heat_cells(p) * heat_steps(p); }},
    .data = {kWhole, random_reals(), kSine, kSpots},
    .size_names = {"n", "m", "steps", "permille"},
    .test_sizes = {{{"n", 1}},
                   {{"n", 2}, {"steps", 3}},
                   {{"m", 1}, {"n", 131}, {"steps", 2}},
                   {{"m", 150}, {"n", 1}, {"steps", 5}},
                   {{"m", 37}, {"n", 53}, {"steps", 12}, {"permille", 250}},
                   {{"n", 64}, {"steps", 8}, {"permille", 125}},
                   {{"m", 12}, {"n", 259}, {"steps", 25}},
                   {{"m", 66}, {"n", 300}, {"steps", 25}},
                   {{"m", 129}, {"n", 259}, {"steps", 12}, {"permille", 250}},
                   {{"m", 40}, {"n", 1021}, {"steps", 13}, {"permille", 100}}},
    .complete = complete,
    .brief = brief,
    .operands = operands,
    .flops = [](const Params& p) { return 6 * heat_cells(p) * heat_steps(p); },
    .fill = fill_inputs,
    .reference = reference,
});

}  // namespace
}  // namespace rung
