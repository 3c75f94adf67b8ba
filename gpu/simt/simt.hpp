/// The header of a kernel's file: ordinary CUDA C++ plus mem<T>, reg<T>, launch() and add_gpu_kernel().
/// The same file is compiled three times: with nvcc for the GPU, where mem<T> and reg<T> *are* T; with g++ for the
/// emulator, where they count ("traced"); and with g++ as plain arithmetic, if only the result is needed ("plain",
/// -DRUNG_PLAIN_EMULATION). RUNG_BUILD is the inline namespace of the one at hand. No other file distinguishes between
/// the three.
///
///   mem<T>   the element type of every global, shared or constant array: const mem<float>* a, __shared__ mem<float>
///            tile[16][16]; T is a number or a vector type: mem<float4>
///   reg<T>   the type of a variable that holds a result of arithmetic on elements: reg<float> sum = 0
///   vector_cast<float4>(a)         the same memory as elements of 16 bytes
///   dynamic_shared<mem<float>>()   the block's dynamic shared memory
///   set_constant(call, symbol, data, bytes)   fills a __constant__ array before a launch, in .reset or .run
/// For cooperative groups, include gpu/simt/groups.hpp as well.
///
/// In kernels, use no reinterpret_cast, no `auto x = a[i]` (x would be the element's proxy, not its value), and no
/// member of an element in memory (write `const float4 v = a[i]; v.x`, not `a[i].x`).
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
