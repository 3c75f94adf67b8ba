/// Each thread has a band of rows and goes down it by blocks of columns, so narrow that three rows of a block stay in
/// its nearest cache: a row is read from memory once and twice more from there. Whole vectors at a time; results that
/// no cache can hold go past the caches, since an ordinary store first reads the line that it overwrites. One step a
/// sweep cannot be faster than a copy. Source: Datta et al. 2008 (rows of blocks, streaming stores); OpenMP.
#include <omp.h>

#include <algorithm>
#include <vector>

#include "cpu/heat/rows.hpp"

namespace rung {
namespace {

/// Columns [begin, end) of a row of `cols`; `north` and `south` are the rows above and below.
template <Store kStore>
void step_row(const HeatGrid& g, const float* north, const float* u, const float* south, float* next, int begin,
              int end) {
  const auto cell = [&](int col) {
    const float west = col > 0 ? u[col - 1] : 0, east = col + 1 < g.cols ? u[col + 1] : 0;
    next[col] = g.centre * u[col] + g.side * ((north[col] + south[col]) + (west + east));
  };
  int col = begin;
  if (col == 0) cell(col++);
  while (col < end && !is_aligned(next + col)) cell(col++);
  const int last = std::min(end, g.cols - 1);  // the last column has no eastern neighbour
  for (; col + kLanes <= last; col += kLanes)
    store<kStore>(next + col, g.centre * load(u + col) + g.side * ((load(north + col) + load(south + col)) +
                                                                   (load(u + col - 1) + load(u + col + 1))));
  while (col < end) cell(col++);
}

template <Store kStore>
void step(const HeatGrid& g, const float* u, float* next, int block, const float* zeros) {
#pragma omp parallel
  {
    const std::int64_t thread = omp_get_thread_num(), team = omp_get_num_threads();
    const int top = static_cast<int>(g.rows * thread / team), bottom = static_cast<int>(g.rows * (thread + 1) / team);
    for (int begin = 0; begin < g.cols; begin += block)
      for (int row = top; row < bottom; ++row) {
        const float* at = u + row * g.cols;
        step_row<kStore>(g, row > 0 ? at - g.cols : zeros, at, row + 1 < g.rows ? at + g.cols : zeros,
                         next + row * g.cols, begin, std::min(g.cols, begin + block));
      }
    finish_stores<kStore>();
  }
}

void run(const Call& call) {
  const HeatGrid grid = heat_grid(call.params);
  const std::vector<float> zeros(grid.cols);  // the row beyond the edge
  with_store(call.params, [&](auto store) {
    take_turns<float>(call, heat_steps(call.params), [&](const float* from, float* to, int) {
      step<store>(grid, from, to, static_cast<int>(call.params.at("block")), zeros.data());
    });
  });
}

const bool added = add_kernel({
    .name = "cpu/heat/blocked",
    .order = 20,
    .title = "blocked",
    .idea =
        "Threads go down bands of rows by blocks of columns that stay in L1, in vectors, with stores past the caches.",
    .source = {{"datta2008"}, {"openmp", "parallel construct"}},
    .tunables = {{"block", {2048, 512, 8192, 32768}}},
    .scratch = [](const Params& p) { return heat_scratch(p, heat_steps(p)); },
    .run = run,
});

}  // namespace
}  // namespace rung
