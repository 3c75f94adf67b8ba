/// How threads share a product: a grid over the rows and columns of C.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace rung {

/// Rows or columns [begin, end).
struct Part {
  int begin = 0, end = 0;
  int size() const { return end - begin; }
};

struct Grid {
  int down = 1, across = 1;  ///< parts of the rows; parts of the columns

  Part rows(int thread, int m, int unit) const { return part(thread % down, down, m, unit); }
  Part columns(int thread, int n, int unit) const { return part(thread / down, across, n, unit); }

 private:
  /// Part `index` of `parts` nearly equal ones, in whole units.
  static Part part(int index, int parts, int size, int unit) {
    const std::int64_t units = (size + unit - 1) / unit;
    return {int(std::min<std::int64_t>(size, units * index / parts * unit)),
            int(std::min<std::int64_t>(size, units * (index + 1) / parts * unit))};
  }
};

/// The grid of all `threads` whose parts need the least of A and B: each thread reads the rows of A and the columns of
/// B that its part of the m x n elements of C lies on.
inline Grid grid_for(int threads, int m, int n) {
  Grid best;
  double least = std::numeric_limits<double>::infinity();
  for (int down = 1; down <= threads; ++down) {
    if (threads % down != 0) continue;
    const int across = threads / down;
    const double reads = double(m) / down + double(n) / across;
    if (reads < least && (m >= down || down == 1) && (n >= across || across == 1)) least = reads, best = {down, across};
  }
  if (best.down * best.across != threads) best = m >= n ? Grid{threads, 1} : Grid{1, threads};
  return best;
}

/// Rows and columns shared out over a grid of threads in units of so many: one part each.
struct EvenParts {
  Grid grid;
  int m, n, row_unit, column_unit;
  int count() const { return grid.down * grid.across; }
  Part rows(int i) const { return grid.rows(i, m, row_unit); }
  Part columns(int i) const { return grid.columns(i, n, column_unit); }
};

/// The parts of C in the order in which threads take them, each as it becomes free: an even grid would take as long as
/// its slowest core. The columns are shared out as in the grid; the rows in pieces of two thirds of a thread's even
/// share of what is left, so that in the end nobody waits for more than a short one. Rows too few for that are shared
/// out evenly. Source: Polychronopoulos, Kuck: Guided Self-Scheduling (1987).
class GuidedParts {
 public:
  /// Of m x n elements; pieces are whole units of rows, at least `least` rows (the last one half as many), and whole
  /// units of columns.
  GuidedParts(const Grid& grid, int m, int n, int row_unit, int least, int column_unit)
      : grid_(grid), m_(m), n_(n), row_unit_(row_unit), least_(least), column_unit_(column_unit) {
    if (m / grid.down < 2 * least) return;
    for (int end = 0; end < m; ++pieces_) end += size_of_next(m - end);
  }

  const Grid& grid() const { return grid_; }
  int count() const { return (pieces_ ? pieces_ : grid_.down) * grid_.across; }
  Part columns(int index) const { return grid_.columns(index % grid_.across * grid_.down, n_, column_unit_); }
  Part rows(int index) const {
    const int place = index / grid_.across;
    if (pieces_ == 0) return grid_.rows(place, m_, 1);
    Part piece;
    for (int i = 0; i <= place; ++i) piece = {piece.end, piece.end + size_of_next(m_ - piece.end)};
    return piece;
  }

 private:
  int size_of_next(int left) const {
    const int wanted = std::max(2 * left / (3 * grid_.down), least_);
    const int size = (wanted + row_unit_ - 1) / row_unit_ * row_unit_;
    return left - size < least_ / 2 ? left : size;
  }

  Grid grid_;
  int m_, n_, row_unit_, least_, column_unit_;
  int pieces_ = 0;  ///< of each part of the columns; 0: as the grid's
};

}  // namespace rung
