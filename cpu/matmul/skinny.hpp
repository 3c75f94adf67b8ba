/// Products of a few rows: B has so little reuse that only reading it once, in order, matters.
#pragma once

#include <omp.h>

#include "cpu/matmul/grid.hpp"
#include "cpu/matmul/micro_kernel.hpp"

namespace rung {

inline bool is_skinny(const Matmul<float>& it) { return it.m <= kMostStreamedRows; }

/// C = alpha A B + beta C for up to kMostStreamedRows rows; each thread streams its own columns of B.
inline void stream_product(const Matmul<float>& it, const MicroKernels& simd, int threads) {
  if (threads == 1) return simd.stream[it.m - 1](it);
#pragma omp parallel num_threads(threads)
  {
    const Grid grid{1, omp_get_num_threads()};
    const Part columns = grid.columns(omp_get_thread_num(), it.n, simd.lanes);
    Matmul<float> part = it;
    part.n = columns.size();
    part.b += columns.begin;
    part.c += columns.begin;
    if (part.n > 0) simd.stream[it.m - 1](part);
  }
}

}  // namespace rung
