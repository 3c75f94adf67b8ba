/// What a kernel's file includes: ordinary CUDA C++ plus mem<T>, reg<T>, launch() and add_gpu_kernel().
/// The same file is compiled twice: with nvcc for the GPU, where mem<T> and reg<T> *are* T, and with g++ for the
/// emulator, where they count. This is the only place that knows which of the two it is.
///
///   mem<T>   the element type of every global or shared array: const mem<float>* a, __shared__ mem<float> tile[16][16]
///   reg<T>   the type of a variable that arithmetic on elements is gathered in: reg<float> sum = 0
///
/// In kernels: no reinterpret_cast, no `auto x = a[i]` (it would hold the element's proxy, not its value).
#pragma once

#include "common/registry.hpp"

#ifdef __CUDACC__
#include "gpu/simt/cuda.hpp"
#else
#include "gpu/simt/emulated.hpp"
#endif

namespace rung {

/// Blocks of `size` that cover `n` elements.
constexpr unsigned blocks_for(std::int64_t n, std::int64_t size) {
  return static_cast<unsigned>((n + size - 1) / size);
}

}  // namespace rung
