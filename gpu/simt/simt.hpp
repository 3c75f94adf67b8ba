/// The header of a kernel's file: ordinary CUDA C++ plus mem<T>, reg<T>, launch() and add_gpu_kernel().
/// The same file is compiled three times: with nvcc for the GPU, where mem<T> and reg<T> *are* T; with g++ for the
/// emulator, where they count ("traced"); and with g++ as plain arithmetic, if only the result is needed ("plain",
/// -DRUNG_PLAIN_EMULATION). RUNG_BUILD is the inline namespace of the current build. No other file distinguishes
/// between the three.
///
///   mem<T>   the element type of every global, shared or constant array: const mem<float>* a, __shared__ mem<float>
///            tile[16][16]; T is a number, a pointer or a vector type: mem<float4>
///   reg<T>   the type of a variable that holds a result of arithmetic on elements: reg<float> sum = 0
///   vector_cast<float4>(a)         the same memory as elements of 16 bytes
///   dynamic_shared<mem<float>>()   the block's dynamic shared memory
///   set_constant(call, symbol, data, bytes)   fills a __constant__ array before a launch, in .reset or .run
/// For cooperative groups, include gpu/simt/groups.hpp as well.
///
/// In kernels, use no reinterpret_cast, no `auto x = a[i]` (x would be the element's proxy, not its value), and no
/// member of an element in memory (write `const float4 v = a[i]; v.x`, not `a[i].x`). The result of arithmetic or of a
/// function such as __ldg() is a reg<T>, by its full name CountingValue<T>, so `const float v = __ldg(a)` and `float s
/// += a[i]` do not compile: write `const reg<float> v = __ldg(a)`. Memory that several threads could see is mem<T>: a
/// shared array, a pointer or a constant of a plain type does not compile, or ends `rung check` and `rung count` with
/// its name and line.
///
/// The words of CUDA C++ that the emulator has (tests/emulator/test_words.py compares this list with its headers):
///   kernels    __global__ __device__ __host__ __forceinline__ __noinline__ __launch_bounds__ __maxnreg__
///              __cluster_dims__ __grid_constant__ __align__ assert __trap __builtin_assume clock64
///   variables  __shared__ __constant__ threadIdx blockIdx blockDim gridDim warpSize
///   barriers   __syncthreads __syncthreads_count __syncthreads_and __syncthreads_or __syncwarp
///              __threadfence __threadfence_block __threadfence_system __nanosleep
///   lanes      __shfl_sync __shfl_up_sync __shfl_down_sync __shfl_xor_sync __all_sync __any_sync __ballot_sync
///              __activemask __match_any_sync __match_all_sync
///              __reduce_add_sync __reduce_min_sync __reduce_max_sync __reduce_and_sync __reduce_or_sync
///              __reduce_xor_sync
///   memory     __ldg __ldca __ldcg __ldcs __ldcv __ldlu __stcg __stcs __stwb __stwt
///              __pipeline_memcpy_async __pipeline_commit __pipeline_wait_prior
///   atomics    atomicAdd atomicSub atomicExch atomicMin atomicMax atomicAnd atomicOr atomicXor atomicInc atomicDec
///              atomicCAS; the first ten also as NAME_block and NAME_system
///   vectors    char1 to char4, uchar, short, ushort, int, uint, float (1 to 4), long, ulong, longlong, ulonglong,
///              double (1 to 3), each with make_TYPE(); dim3
///   functions  <cmath> and its float forms, min, max, rsqrt, rcbrt, exp10, sinpi, cospi, sincos; of the intrinsics
///              __fmaf_rn __fma_rn and __fadd_rn to __dsqrt_rn, __expf and its like, conversions,
///              __float_as_int and its like, __popc __clz __ffs __brev with their ll forms, __byte_perm
///              __funnelshift_l __funnelshift_r,
///              __mulhi __umulhi __mul64hi __umul64hi __mul24 __umul24 __sad __usad __hadd __rhadd __saturatef
/// Not: variables that are __device__ or __managed__ (make them operands or scratch), `extern __shared__` (write
/// dynamic_shared), textures, surfaces, __half and its like, printf, grid-wide synchronisation.
#pragma once

#include "common/registry.hpp"

#if defined(__CUDACC__)
#include <cuda_pipeline_primitives.h>

#define RUNG_BUILD cuda
#include "gpu/simt/cuda.hpp"
#elif defined(RUNG_PLAIN_EMULATION)
#define RUNG_EMULATION plain
#define RUNG_BUILD plain
#include "gpu/simt/emulator_plain.hpp"
// The vocabulary needs the types of its build.
#include "gpu/simt/emulated.hpp"
#else
#define RUNG_EMULATION traced
#define RUNG_BUILD traced
#include "gpu/simt/emulator_traced.hpp"
// The vocabulary needs the types of its build.
#include "gpu/simt/emulated.hpp"
#endif

namespace rung {

/// Blocks of `size` that cover `n` elements.
constexpr unsigned blocks_for(std::int64_t n, std::int64_t size) {
  return static_cast<unsigned>((n + size - 1) / size);
}

}  // namespace rung
