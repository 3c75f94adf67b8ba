/// Shared by the kernels of the heat equation that make one step per launch. In an unnamed namespace, so that each of
/// the three builds of a kernel's file has its own copy.
#pragma once

#include "common/problem/heat.hpp"
#include "gpu/simt/simt.hpp"

namespace rung {
namespace {

/// For .scratch.
inline std::vector<Operand> one_step_scratch(const Params& p) { return heat_scratch(p, heat_steps(p)); }

/// The traffic of all steps. Each loads `loads` elements and stores every cell.
inline Traffic one_step_traffic(const Params& p, double loaded) {
  return {.loaded = 4 * loaded * heat_steps(p), .stored = 4 * heat_cells(p) * heat_steps(p)};
}

/// The cells of a line of n that are loaded in tiles of `size` cells with a halo of `halo` cells on either side.
inline double cells_of_tiles(std::int64_t n, std::int64_t size, std::int64_t halo) {
  double cells = 0;
  for (std::int64_t first = 0; first < n; first += size)
    cells += static_cast<double>(std::min(n, first + size + halo) - std::max<std::int64_t>(0, first - halo));
  return cells;
}

/// Whether every row begins at a multiple of 16 bytes.
inline bool has_quads(const Params& p) { return p.at("n") % 4 == 0; }

/// For .run: launches kernel(from, to, grid) for each step.
template <typename Kernel>
void run_steps(const Call& call, Kernel kernel) {
  const HeatGrid grid = heat_grid(call.params);
  take_turns<mem<float>>(call, heat_steps(call.params),
                         [&](const mem<float>* from, mem<float>* to, int) { launch(call, kernel, from, to, grid); });
}

}  // namespace
}  // namespace rung
