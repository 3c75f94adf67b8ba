/// Each thread goes down a strip of columns with their sums over 2 R + 1 rows in a line that L1 holds: the row that
/// comes in is added, the row that leaves, still in L2, is subtracted. Windows along that line are sums of sums of 2,
/// 4, 8 … neighbours: a handful of passes in vectors, whose number grows with the logarithm of the radius and which no
/// dependence from column to column slows down, as a running sum along the line would be. Where no cache holds the
/// image, means are written by streaming stores, and the next rows are prefetched: a strip's row is short, and the
/// processor's own prefetcher would begin anew with each.
/// Floor: 8 bytes a pixel at the bandwidth of a copy. Rounding: column sums begin anew after 512 rows.
/// Source: McDonnell, Box-filtering techniques, 1981; Datta et al. 2008 (streaming stores, prefetching).
#include "cpu/blur/strip.hpp"

namespace rung {
namespace {

using namespace blur;

using Strip = Choices<2048, 1024, 4096, 8192>;

constexpr int kRowsAhead = 2;  // prefetched

/// What a thread keeps: the columns' sums, sums of neighbouring ones, and the columns' shares.
struct Lines {
  float *sums, *powers, *windows, *shares;
  int floats;  // of each

  static std::size_t all_floats(const BlurImage& g, int strip) { return 4 * std::size_t(line_floats(g, strip)); }
  Lines(const BlurImage& g, int strip, float* memory) : floats(line_floats(g, strip)) {
    sums = memory;
    powers = sums + floats;
    windows = powers + floats;
    shares = windows + floats;
  }
};

/// Adds a row's pixels to the sums, and subtracts those of another row before; `gone` is null if there is none yet.
void slide(float* sums, const float* fresh, const float* gone, const float* ahead, int n) {
  const auto add = [&](const auto& less) {
    int i = 0;
    for (; i + kLanes <= n; i += kLanes) {
      __builtin_prefetch(ahead + i);
      put(sums + i, less(load(sums + i), i) + load(fresh + i));
    }
    for (; i < n; ++i) sums[i] = (gone ? sums[i] - gone[i] : sums[i]) + fresh[i];
  };
  if (gone)
    add([&](FloatVector sum, int i) { return sum - load(gone + i); });
  else
    add([](FloatVector sum, int) { return sum; });
}

void subtract(float* sums, const float* gone, int n) {
  for (int i = 0; i < n; ++i) sums[i] -= gone[i];
}

/// The sum of kCount vectors, the first at `from`, each `distance` elements behind the one before.
template <int kCount>
FloatVector sum_at(const float* from, int distance) {
  FloatVector sum = load(from);
  for (int k = 1; k < kCount; ++k) sum += load(from + k * distance);
  return sum;
}

/// The means of a row of a piece: its windows' sums are those of 2 R + 1 elements from i on. Sums of 1, 4, 16 …
/// elements are made in place, each of four of the sums before; those that the digits of 2 R + 1 to base 4 name are put
/// one after the other.
template <Store kStore>
void blur_row(const BlurImage& g, const Piece& piece, const Lines& lines, float row_share, float* y) {
  const int columns = piece.columns(), side = 2 * g.radius + 1;
  const float* powers = lines.sums;  // sums of `length` elements
  const float* windows = nullptr;    // sums of `done` elements
  int length = 1, done = 0;
  for (; 4 * length <= side; length *= 4) {
    const int digit = side / length % 4;
    if (digit == 1 && length == 1) {
      windows = powers;
    } else {
      Choices<1, 2, 3>::pick(digit, [&](auto count) {
        for (int i = 0; i < columns; i += kLanes) {
          const FloatVector more = sum_at<count>(powers + done + i, length);
          put(lines.windows + i, windows ? load(windows + i) + more : more);
        }
        windows = lines.windows;
      });
    }
    done += digit * length;
    // What lies beyond the piece is needed for the digits that are left.
    for (int i = 0; i < columns + side - 4 * length; i += kLanes) put(lines.powers + i, sum_at<4>(powers + i, length));
    powers = lines.powers;
  }
  Choices<1, 2, 3>::pick(side / length, [&](auto count) {  // the last digit: with the means
    const auto last = [&](int i) { return sum_at<count>(powers + done + i, length); };
    if (windows)
      put_means<kStore>(y, columns, lines.shares, row_share, [&](int i) { return load(windows + i) + last(i); });
    else
      put_means<kStore>(y, columns, lines.shares, row_share, last);
  });
}

template <Store kStore>
void blur_piece(const BlurImage& g, const float* x, float* y, const Piece& piece, const Lines& lines) {
  const int first = std::max(piece.begin - g.radius, 0), columns = std::min(piece.end + g.radius, g.cols) - first;
  float* const sums = lines.sums + (first - piece.begin + g.radius);  // outside the image they stay 0
  const auto row_of = [&](int row) { return x + std::int64_t{row} * g.cols + first; };
  std::fill_n(lines.sums, 4 * lines.floats, 0.0f);
  fill_shares(g, piece, lines.shares);
  for (int row = piece.top; row < piece.bottom; ++row) {
    const int top = std::max(row - g.radius, 0), bottom = std::min(row + g.radius + 1, g.rows);
    const auto ahead = [&](int at) { return row_of(std::min(at + kRowsAhead, g.rows - 1)); };
    if ((row - piece.top) % kBlurRestart == 0) {
      std::fill_n(sums, columns, 0.0f);
      for (int r = top; r < bottom; ++r) slide(sums, row_of(r), nullptr, ahead(r), columns);
    } else if (row + g.radius >= g.rows) {
      if (top > 0) subtract(sums, row_of(top - 1), columns);
    } else {
      slide(sums, row_of(bottom - 1), top > 0 ? row_of(top - 1) : nullptr, ahead(bottom - 1), columns);
    }
    blur_row<kStore>(g, piece, lines, 1.0f / static_cast<float>(bottom - top),
                     y + std::int64_t{row} * g.cols + piece.begin);
  }
}

void run(const Call& call) {
  const BlurImage g = blur_image(call.params);
  const auto* x = call.operand<const float>(0);
  auto *y = call.operand<float>(1), *scratch = call.operand<float>(2);
  const int strip = static_cast<int>(call.params.at("strip"));
  each_piece(g, strip, [&](const Piece& piece, auto store) {
    blur_piece<store>(g, x, y, piece, Lines(g, strip, memory_of_thread(scratch, Lines::all_floats(g, strip))));
  });
}

const bool added = add_kernel({
    .name = "cpu/blur/running_sum",
    .order = 30,
    .title = "running sum",
    .idea = "All threads; column sums in a line that L1 holds, windows along it as sums of sums, streaming stores: "
            "nearly the "
            "same cost at every radius.",
    .source = {{"mcdonnell1981"}, {"datta2008"}},
    .tunables = {{"strip", Strip::values()}},
    .scratch = [](const Params& p) { return thread_scratch(Lines::all_floats(blur_image(p), p.at("strip"))); },
    .run = run,
});

}  // namespace
}  // namespace rung
