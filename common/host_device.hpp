/// RUNG_ANYWHERE: one definition of a function, compiled for the CPU and for the GPU, as with CUDA's __host__
/// __device__. Always inlined: the linker must not exchange the versions for counting, for the GPU and for this CPU's
/// vectors.
#pragma once

#ifdef __CUDACC__
#define RUNG_ANYWHERE __host__ __device__ __forceinline__
#else
#define RUNG_ANYWHERE __attribute__((always_inline)) inline
#endif
