/// How threads divide a product: a grid over the rows and columns of C.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

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

/// The grid of `threads` parts of the m x n elements of C that reads the least of A and B: each thread reads the rows
/// of A and the columns of B of its part.
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

/// A part of C.
struct Piece {
  Part rows, columns;
  std::int64_t size() const { return std::int64_t{rows.size()} * columns.size(); }
};

/// Rows and columns divided over a grid of threads, in whole units: one piece per thread.
class EvenPieces {
 public:
  EvenPieces(const Grid& grid, int m, int n, int row_unit, int column_unit)
      : grid_(grid), m_(m), n_(n), row_unit_(row_unit), column_unit_(column_unit) {}

  /// Advances to piece `index`; false if there is none.
  bool reach(int index) {
    piece_ = {grid_.rows(index, m_, row_unit_), grid_.columns(index, n_, column_unit_)};
    return index < grid_.down * grid_.across;
  }
  const Piece& piece() const { return piece_; }

 private:
  Grid grid_;
  int m_, n_, row_unit_, column_unit_;
  Piece piece_;
};

/// The pieces of C for dynamic scheduling, in order: an even grid would take as long as its slowest core. Each piece is
/// two thirds of a thread's even share of the rest: C is divided into bands of rows of decreasing height, and a band
/// into pieces. Bands are high enough that packing B pays; from there on their pieces become narrower instead, so that
/// the last ones to finish are small. Products too small for that are divided evenly. Source: Polychronopoulos, Kuck:
/// Guided Self-Scheduling (1987).
class GuidedPieces {
 public:
  /// Of m x n elements, for all threads of the grid, in whole units. Bands are at least four to eight units of rows
  /// high, the last one half of that.
  GuidedPieces(const Grid& grid, int m, int n, int row_unit, int column_unit)
      : grid_(grid), even_(grid, m, n, 1, column_unit), m_(m), n_(n), row_unit_(row_unit), column_unit_(column_unit) {
    const std::int64_t share = std::int64_t{m} * n / (grid.down * grid.across), four = 4 * row_unit;
    is_even_ = share < 2 * four * column_unit;
    least_ = int(std::clamp(share / (4 * column_unit), four, 2 * four));
  }

  const Grid& grid() const { return grid_; }
  /// Advances to piece `index`, not before the current one; false if there is none.
  bool reach(int index) {
    if (is_even_) return even_.reach(index);
    for (; reached_ < index; ++reached_)
      if (!next()) return false;
    return true;
  }
  const Piece& piece() const { return is_even_ ? even_.piece() : piece_; }

 private:
  bool next() {
    auto& [rows, columns] = piece_;
    const int end_of_columns = reached_ < 0 ? n_ : columns.end;
    if (end_of_columns == n_ && rows.end == m_) return false;
    if (end_of_columns == n_) {
      const int left = m_ - rows.end, wanted = std::max(2 * left / (3 * grid_.down), least_);
      rows = {rows.end, rows.end + whole(wanted, row_unit_, left, least_)};
      columns.end = 0;
    }
    const double left = double(m_ - rows.begin) * n_ - double(rows.size()) * columns.end;
    const double wanted = 2 * left / (3.0 * grid_.down * grid_.across * rows.size());
    const int most = (n_ + grid_.across - 1) / grid_.across;
    columns = {columns.end,
               columns.end + whole(std::min(int(wanted), most), column_unit_, n_ - columns.end, column_unit_)};
    return true;
  }
  /// About `size`, in whole units; or all of `left`, if less than half of `least` would remain.
  static int whole(int size, int unit, int left, int least) {
    const int units = std::max(1, (size + unit / 2) / unit) * unit;
    return left < units + least / 2 ? left : units;
  }

  Grid grid_;
  EvenPieces even_;
  int m_, n_, row_unit_, column_unit_, least_;
  bool is_even_;
  Piece piece_;
  int reached_ = -1;
};

/// All pieces, in order.
template <typename Pieces>
std::vector<Piece> all_pieces(Pieces pieces) {
  std::vector<Piece> all;
  for (int i = 0; pieces.reach(i); ++i) all.push_back(pieces.piece());
  return all;
}

}  // namespace rung
