/// Shared by the kernels of the solver: one step by a method that is known at compile time, or not, and the record's
/// parts. In an unnamed namespace, so that each of the three builds of a kernel's file has its own copy.
#pragma once

#include "common/problem/solver.hpp"
#include "gpu/simt/simt.hpp"

namespace rung {
namespace {

constexpr int kSolverThreads = 256;

/// One step; all threads pass the same method.
__device__ __forceinline__ reg<float> update(int method, const reg<float>& u) {
  switch (static_cast<SolverMethod>(method)) {
    case SolverMethod::euler:
      return euler_step(u);
    case SolverMethod::midpoint:
      return midpoint_step(u);
    default:
      return runge_kutta_step(u);
  }
}

inline Launch solver_launch(const Params& p) {
  return Launch{{blocks_for(p.at("n"), kSolverThreads)}, {kSolverThreads}};
}

inline Traffic solver_traffic(const Params& p) { return Traffic{.loaded = 4.0 * p.at("n"), .stored = 4.0 * p.at("n")}; }

inline int solver_size(const Call& call, const char* name) { return static_cast<int>(call.params.at(name)); }

}  // namespace
}  // namespace rung
