/// "solver": many small initial value problems u' = -u^2, by a method that is chosen at run time, to measure the cost
/// of the choice by how it is passed to a kernel.
///
/// Sizes     n: problems, up to 2^28; steps: of each, up to 2^16 (1 if not given); method: one of kSolverMethods.
/// Operand 0 `u`, input: n float32 from 0 to 1. Operand 1 `result`, output: n float32.
/// Formula   result[i] is u[i] after `steps` steps of width kSolverStep by Euler's method, by the midpoint method or by
///           the classical method of Runge and Kutta: an approximation of the exact solution u / (1 + t u).
/// Useful operations: 3, 6 or 16 per step.
///
/// A step brings two neighbouring values nearer to each other, so errors never grow, and each step rounds by little
/// more than 2^-25.
#pragma once

#include <cstdint>

#include "common/registry.hpp"

namespace rung {

enum class SolverMethod { euler, midpoint, runge_kutta };

constexpr float kSolverStep = 0x1p-10f;

/// One step; T is float, double or the emulator's counterpart. Always inlined: what is compiled for counting and for
/// the GPU must not stand in for each other.
#ifdef __CUDACC__
#define RUNG_SOLVER_STEP __host__ __device__ __forceinline__
#else
#define RUNG_SOLVER_STEP __attribute__((always_inline)) inline
#endif

template <typename T>
RUNG_SOLVER_STEP T euler_step(const T& u) {
  const T slope = u * u;
  return u - kSolverStep * slope;
}

template <typename T>
RUNG_SOLVER_STEP T midpoint_step(const T& u) {
  const T slope = u * u;
  const T middle = u - kSolverStep / 2 * slope;
  const T there = middle * middle;
  return u - kSolverStep * there;
}

template <typename T>
RUNG_SOLVER_STEP T runge_kutta_step(const T& u) {
  const T first = u * u;
  const T a = u - kSolverStep / 2 * first;
  const T second = a * a;
  const T b = u - kSolverStep / 2 * second;
  const T third = b * b;
  const T c = u - kSolverStep * third;
  const T fourth = c * c;
  const T outer = first + fourth, inner = second + third;
  const T slope = 2.0f * inner + outer;
  return u - kSolverStep / 6 * slope;
}

#undef RUNG_SOLVER_STEP

}  // namespace rung
