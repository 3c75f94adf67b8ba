/// The textbook's two loops over rows and columns, on one thread. The three rows that a cell needs stay in the caches,
/// so memory is read once, but one thread has too few requests in flight to saturate it. The first and the last column
/// are peeled off the inner loop, which then has no test and is vectorised by any compiler.
/// Source: Blakely, Laplace's equation and memory bandwidth.
#include "cpu/heat/rows.hpp"

namespace rung {
namespace {

void step(const HeatGrid& g, const float* u, float* next, const float* zeros) {
  const int last = g.cols - 1;
  for (int row = 0; row < g.rows; ++row) {
    const float* here = u + row * g.cols;
    const float* north = row > 0 ? here - g.cols : zeros;
    const float* south = row + 1 < g.rows ? here + g.cols : zeros;
    float* to = next + row * g.cols;
    const auto cell = [&](int col, float west, float east) {
      return g.centre * here[col] + g.side * ((north[col] + south[col]) + (west + east));
    };
    to[0] = cell(0, 0, last > 0 ? here[1] : 0);
    for (int col = 1; col < last; ++col) to[col] = cell(col, here[col - 1], here[col + 1]);
    if (last > 0) to[last] = cell(last, here[last - 1], 0);
  }
}

const bool added = add_kernel({
    .name = "cpu/heat/naive",
    .order = 10,
    .title = "naive",
    .idea = "Two loops over rows and columns, on one thread.",
    .source = {{"blakely", "Laplace's equation and memory bandwidth"}},
    .scratch = scratch_with_zeros,
    .cpu = {.is_serial = true},
    .run =
        [](const Call& call) {
          const HeatGrid grid = heat_grid(call.params);
          const float* const zeros = row_of_zeros(call);
          take_turns<float>(call, heat_steps(call.params),
                            [&](const float* from, float* to, int) { step(grid, from, to, zeros); });
        },
});

}  // namespace
}  // namespace rung
