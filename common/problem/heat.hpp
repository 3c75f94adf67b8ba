/// "heat": the heat equation u_t = u_xx + u_yy on a rectangle whose edge is kept at 0, by forward Euler with the
/// five-point stencil: in each step every cell becomes
///   next = (1 - 4 r) u + r (north + south + west + east),   r = dt / h^2
/// from values of the step before, so two arrays alternate.
///
/// Sizes     n: columns; m: rows, n if not given; the inner points of the grid, up to 32768, which keeps every index in
///           31 bits. The edge lies one h beyond them and is not stored.
///           steps: how many, 1 if not given. permille: 1000 r, 230 if not given; at least 10, so that r to the power
///           of some steps is still a float32; beyond 250 the scheme is unstable, and the sizes are refused.
/// Operand 0 `u0`, input: m x n float32, the field at time 0.
/// Operand 1 `u`, output: m x n float32, the field after all steps, at the time steps r h^2.
/// Useful operations: 4 additions and 2 multiplications per cell and step. Compulsory bytes: u0 read once, u written
/// once, for any number of steps: a kernel that makes one step at a time moves 8 bytes per cell and step.
#pragma once

#include <cstdint>
#include <vector>

#include "common/registry.hpp"

namespace rung {

/// 1000 r beyond which forward Euler is unstable in two dimensions.
constexpr std::int64_t kStabilityLimitPermille = 250;

/// What a kernel steps: rows x cols cells, and the weights of a cell and of each of its neighbours.
struct HeatGrid {
  int rows = 0, cols = 0;
  float centre = 0, side = 0;
};

inline HeatGrid heat_grid(const Params& p) {
  const double r = static_cast<double>(p.at("permille")) / 1000;
  return {.rows = static_cast<int>(p.at("m")),
          .cols = static_cast<int>(p.at("n")),
          .centre = static_cast<float>(1 - 4 * r),
          .side = static_cast<float>(r)};
}

inline int heat_steps(const Params& p) { return static_cast<int>(p.at("steps")); }

inline double heat_cells(const Params& p) { return static_cast<double>(p.at("m")) * static_cast<double>(p.at("n")); }

/// The scratch of a kernel that sweeps over the field `sweeps` times: the array that alternates with the output.
inline std::vector<Operand> heat_scratch(const Params& p, int sweeps) {
  if (sweeps < 2) return {};
  return {{.name = "second field", .elements = static_cast<std::size_t>(heat_cells(p)), .role = Role::scratch}};
}

/// Calls sweep(from, to, i) for i from 0 to sweeps - 1: first from the input, in the end to the output, in between from
/// one of the two arrays to the other. Element: what the kernel's arrays are made of.
template <typename Element, typename Sweep>
void take_turns(const Call& call, int sweeps, const Sweep& sweep) {
  const Element* from = call.operand<const Element>(0);
  for (int i = 0; i < sweeps; ++i) {
    Element* const to = call.operand<Element>((sweeps - i) % 2 == 1 ? 1 : 2);
    sweep(from, to, i);
    from = to;
  }
}

}  // namespace rung
