/// RUNG_ANYWHERE: one definition of a function, compiled for the CPU and for the GPU, as CUDA's __host__ __device__ has
/// it. Always inlined: what is compiled for counting, for the GPU and for this CPU's vectors must not stand in for each
/// other.
#pragma once

#ifdef __CUDACC__
#define RUNG_ANYWHERE __host__ __device__ __forceinline__
#else
#define RUNG_ANYWHERE __attribute__((always_inline)) inline
#endif
