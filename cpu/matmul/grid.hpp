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

}  // namespace rung
