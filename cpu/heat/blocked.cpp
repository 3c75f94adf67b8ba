/// Each thread steps a band of rows, a few at a time, in vectors: a row in registers is used for three results, and the
/// rows at a block's border are still in a cache when the next block needs them. Where no cache holds the field,
/// results are written by streaming stores: an ordinary store would first read the line that it overwrites. One step
/// per pass cannot be faster than a copy; expect this kernel to be as fast. Source: Datta et al. 2008 (register
/// blocking, streaming stores).
#include <omp.h>

#include <algorithm>

#include "cpu/heat/rows.hpp"

namespace rung {
namespace {

using RowsAtATime = Choices<4, 1, 2, 8>;

/// Rows `row` to row + kRows - 1; `zeros` replaces the rows beyond the edge.
template <Store kStore, int kRows>
void step_block(const HeatGrid& g, const float* u, float* next, int row, const float* zeros) {
  const float* in[kRows + 2];
  float* out[kRows];
  for (int r = 0; r < kRows + 2; ++r) {
    const int from = row + r - 1;
    in[r] = from < 0 || from >= g.rows ? zeros : u + from * g.cols;
  }
  for (int r = 0; r < kRows; ++r) out[r] = next + (row + r) * g.cols;
  const auto step_columns = [&](int begin, int end) {  // cell by cell: the first and the last column are at the edge
    for (int r = 0; r < kRows; ++r)
      for (int col = begin; col < end; ++col) {
        const float* u_row = in[r + 1];
        const float west = col > 0 ? u_row[col - 1] : 0, east = col + 1 < g.cols ? u_row[col + 1] : 0;
        out[r][col] = g.centre * u_row[col] + g.side * ((in[r][col] + in[r + 2][col]) + (west + east));
      }
  };
  const int first = std::min(kLanes, g.cols);
  step_columns(0, first);
  step_columns(step_rows<kStore, kRows>(in, out, first, g.cols - 1, g.centre, g.side), g.cols);
}

template <Store kStore, int kRows>
void step(const HeatGrid& g, const float* u, float* next, const float* zeros) {
#pragma omp parallel
  {
    const std::int64_t thread = omp_get_thread_num(), team = omp_get_num_threads();
    int row = static_cast<int>(g.rows * thread / team);
    const int bottom = static_cast<int>(g.rows * (thread + 1) / team);
    for (; row + kRows <= bottom; row += kRows) step_block<kStore, kRows>(g, u, next, row, zeros);
    for (; row < bottom; ++row) step_block<kStore, 1>(g, u, next, row, zeros);
    finish_stores<kStore>();
  }
}

void run(const Call& call) {
  const HeatGrid grid = heat_grid(call.params);
  const float* const zeros = row_of_zeros(call);
  with_store(call.params, [&](auto store) {
    RowsAtATime::pick(call.params.at("rows"), [&](auto rows) {
      take_turns<float>(call, heat_steps(call.params),
                        [&](const float* from, float* to, int) { step<store, rows>(grid, from, to, zeros); });
    });
  });
}

const bool added = add_kernel({
    .name = "cpu/heat/blocked",
    .order = 20,
    .title = "blocked",
    .idea = "Threads step blocks of a few rows in vector registers, with streaming stores.",
    .source = {{"datta2008"}, {"openmp", "parallel construct"}},
    .tunables = {{"rows", RowsAtATime::values()}},
    .scratch = scratch_with_zeros,
    .run = run,
});

}  // namespace
}  // namespace rung
