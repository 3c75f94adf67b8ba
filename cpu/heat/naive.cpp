/// The textbook's two loops over rows and columns, on one thread, each neighbour tested for. The three rows that a cell
/// needs stay in the caches, so memory is read once, but one thread has too few requests in flight to saturate it.
/// Source: Blakely, Laplace's equation and memory bandwidth.
#include "common/problem/heat.hpp"

namespace rung {
namespace {

void step(const HeatGrid& g, const float* u, float* next) {
  for (int row = 0; row < g.rows; ++row)
    for (int col = 0; col < g.cols; ++col) {
      const int at = row * g.cols + col;
      const float north = row > 0 ? u[at - g.cols] : 0;
      const float south = row + 1 < g.rows ? u[at + g.cols] : 0;
      const float west = col > 0 ? u[at - 1] : 0;
      const float east = col + 1 < g.cols ? u[at + 1] : 0;
      next[at] = g.centre * u[at] + g.side * ((north + south) + (west + east));
    }
}

const bool added = add_kernel({
    .name = "cpu/heat/naive",
    .order = 10,
    .title = "naive",
    .idea = "Two loops over rows and columns on one thread, each neighbour tested for.",
    .source = {{"blakely", "Laplace's equation and memory bandwidth"}},
    .scratch = [](const Params& p) { return heat_scratch(p, heat_steps(p)); },
    .run =
        [](const Call& call) {
          const HeatGrid grid = heat_grid(call.params);
          take_turns<float>(call, heat_steps(call.params),
                            [&](const float* from, float* to, int) { step(grid, from, to); });
        },
});

}  // namespace
}  // namespace rung
