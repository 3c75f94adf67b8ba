/// Temporal blocking: several steps between one read and one write of the field. A thread streams down a strip of
/// columns, four rows at a time, and each level of a pipeline computes four rows one time step later from the previous
/// level's last rows. The rows of all levels together fit into L2, so DRAM traffic per step falls by the depth, and the
/// kernel runs at the rate of the cores. The outer columns of a strip become invalid, one more per level, so strips
/// overlap; the rows are divided into parts that overlap as well. Source: Matsumura et al. 2020 (AN5D), in a CPU's
/// caches; Wonnacott 2000 (time skewing).
#include <omp.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

#include "cpu/heat/rows.hpp"

namespace rung {
namespace {

constexpr int kRows = 4;  // that a level computes at a time, from kRows + 2 rows

int rounded_up(int n) { return (n + kLanes - 1) / kLanes * kLanes; }

/// The last rows of each level (level 0 is the field itself), with a vector of zeros on either side of each row.
class Levels {
 public:
  Levels(int depth, int width)
      : stride_(width + 2 * kLanes),
        floats_(static_cast<std::size_t>(depth + 1) * kKept * stride_),
        memory_(static_cast<float*>(::operator new (floats_ * sizeof(float), std::align_val_t{kVectorBytes}))) {}

  void clear() { std::memset(memory_.get(), 0, floats_ * sizeof(float)); }

  float* row(int level, int i) {
    return memory_.get() + static_cast<std::size_t>(level * kKept + (i + kFar * kKept) % kKept) * stride_ + kLanes;
  }

 private:
  static constexpr int kKept = kRows + 2;
  static constexpr int kFar = 1 << 20;  // keeps row numbers above the field positive

  struct Free {
    void operator()(float* p) const { ::operator delete (p, std::align_val_t{kVectorBytes}); }
  };
  std::size_t stride_, floats_;
  std::unique_ptr<float[], Free> memory_;
};

/// A sweep over the field: its number of steps, and how it is divided.
struct Sweep {
  HeatGrid grid;
  int steps = 0, width = 0, strips = 0, parts = 0;
};

/// Columns [begin, begin + width) of rows [top, bottom). After all steps, columns [from, to) are valid.
struct Piece {
  int begin = 0, from = 0, to = 0, top = 0, bottom = 0;
};

Piece piece_of(const Sweep& s, int strip, int part) {
  const int halo = rounded_up(s.steps), fresh = s.width - 2 * halo, wanted = strip * fresh;
  const std::int64_t rows = s.grid.rows;
  return {.begin = std::max(0, std::min(wanted, s.grid.cols - s.width)),
          .from = strip == 0 ? 0 : wanted + halo,
          .to = strip == s.strips - 1 ? s.grid.cols : wanted + fresh + halo,
          .top = static_cast<int>(rows * part / s.parts),
          .bottom = static_cast<int>(rows * (part + 1) / s.parts)};
}

/// Copies kRows rows of the field, from `first` on, to level 0; rows outside the field are zero.
void take_rows(const Sweep& s, const Piece& piece, const float* u, Levels& levels, int first) {
  const std::size_t bytes = std::min(s.width, s.grid.cols) * sizeof(float);
  for (int row = first; row < first + kRows; ++row) {
    float* to = levels.row(0, row);
    if (row < 0 || row >= s.grid.rows) {
      std::memset(to, 0, bytes);
      continue;
    }
    const float* from = u + row * s.grid.cols + piece.begin;
    std::memcpy(to, from, bytes);
    if (row + kRows < s.grid.rows)  // the hardware prefetcher does not follow from row to row
      for (int col = 0; col < s.width; col += 16) __builtin_prefetch(from + kRows * s.grid.cols + col);
  }
}

/// Computes kRows rows of `level`, from `first` on; rows and columns outside the field stay zero.
void make_rows(const Sweep& s, Levels& levels, int level, int first) {
  const float* in[kRows + 2];
  float* out[kRows];
  for (int r = 0; r < kRows + 2; ++r) in[r] = levels.row(level - 1, first - 1 + r);
  for (int r = 0; r < kRows; ++r) out[r] = levels.row(level, first + r);
  step_rows<Store::ordinary, kRows>(in, out, 0, s.width, s.grid.centre, s.grid.side);
  for (int r = 0; r < kRows; ++r) {
    const bool is_outside = first + r < 0 || first + r >= s.grid.rows;
    const int end = is_outside ? 0 : std::min(s.width, s.grid.cols);
    std::memset(out[r] + end, 0, (s.width - end) * sizeof(float));
  }
}

/// Stores kRows rows of the last level, from `first` on, as far as they belong to the piece.
template <Store kStore>
void put_rows(const Sweep& s, const Piece& piece, Levels& levels, float* next, int first) {
  for (int row = std::max(first, piece.top); row < std::min(first + kRows, piece.bottom); ++row) {
    const float* from = levels.row(s.steps, row) - piece.begin;
    float* to = next + row * s.grid.cols;
    int col = piece.from;
    for (; col + kLanes <= piece.to; col += kLanes) store<kStore>(to + col, load(from + col));
    for (; col < piece.to; ++col) to[col] = from[col];
  }
}

/// Each level is a row behind the previous level, whose next row it needs.
template <Store kStore>
void sweep_piece(const Sweep& s, const Piece& piece, const float* u, float* next, Levels& levels) {
  levels.clear();
  for (int first = piece.top - s.steps - 1; first - s.steps < piece.bottom; first += kRows) {
    take_rows(s, piece, u, levels, first);
    for (int level = 1; level <= s.steps; ++level) make_rows(s, levels, level, first - level);
    put_rows<kStore>(s, piece, levels, next, first - s.steps);
  }
}

template <Store kStore>
void sweep_field(const Sweep& s, const float* u, float* next) {
#pragma omp parallel
  {
    Levels levels(s.steps, s.width);
#pragma omp for collapse(2) schedule(dynamic)
    for (int part = 0; part < s.parts; ++part)
      for (int strip = 0; strip < s.strips; ++strip) sweep_piece<kStore>(s, piece_of(s, strip, part), u, next, levels);
    finish_stores<kStore>();
  }
}

/// Strips of the tunable's width, or of the field's; several pieces per thread, for balance, but no piece so low that
/// the overlap becomes a large part of it.
Sweep sweep_of(const Params& p, int steps) {
  constexpr int kPiecesPerThread = 8, kLeastHeight = 16;
  const HeatGrid grid = heat_grid(p);
  const int width = std::min(static_cast<int>(p.at("width")), rounded_up(grid.cols));
  const int fresh = width - 2 * rounded_up(steps);
  const int strips = grid.cols <= width ? 1 : 1 + (grid.cols - width + fresh - 1) / fresh;
  const int wanted = (kPiecesPerThread * omp_get_max_threads() + strips - 1) / strips;
  return {.grid = grid,
          .steps = steps,
          .width = width,
          .strips = strips,
          .parts = std::max(1, std::min(wanted, grid.rows / (kLeastHeight * steps)))};
}

int sweeps_of(const Params& p) { return static_cast<int>((p.at("steps") + p.at("depth") - 1) / p.at("depth")); }

/// The last sweep makes the remaining steps.
void run(const Call& call) {
  const Params& p = call.params;
  const int depth = static_cast<int>(p.at("depth"));
  with_store(p, [&](auto store) {
    take_turns<float>(call, sweeps_of(p), [&](const float* from, float* to, int i) {
      sweep_field<store>(sweep_of(p, std::min(depth, heat_steps(p) - i * depth)), from, to);
    });
  });
}

const bool added = add_kernel({
    .name = "cpu/heat/temporal",
    .order = 30,
    .title = "temporal blocking",
    .idea =
        "Each thread takes strips of the field through several steps within its L2, between one read and one write.",
    .source = {{"matsumura2020"}, {"wonnacott2000"}},
    .tunables = {{"depth", {24, 16, 12, 8, 4}}, {"width", {512, 256, 1024}}},
    .scratch = [](const Params& p) { return heat_scratch(p, sweeps_of(p)); },
    .run = run,
});

}  // namespace
}  // namespace rung
