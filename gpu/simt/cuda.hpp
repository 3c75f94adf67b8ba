/// simt.hpp for nvcc: plain types and a checked launch.
#pragma once

#include <tuple>

#include "common/registry.hpp"
#include "gpu/host/cuda_error.hpp"

#ifndef __maxnreg__  // before CUDA 12.4 there is no cap: a kernel's resources then show its registers
#define __maxnreg__(...)
#endif

namespace rung {

/// early: the kernel may start before the previous kernel on the stream has ended, as soon as all its blocks allow that
/// (programmatic dependent launch, compute capability 9.0). cooperative: all blocks are resident at once.
enum class LaunchKind { ordinary, early, cooperative };

/// Launches `kernel` with the configuration call.launch, on call.stream. Throws LaunchRefused if no block fits on this
/// GPU, or not all of a cooperative launch, and Error with CUDA's name for any other failure.
void launch_on_device(const Call& call, const void* kernel, void** arguments, LaunchKind kind);

inline namespace cuda {

template <typename T>
using mem = T;
template <typename T>
using reg = T;

/// The block's dynamic shared memory: `mem<float>* tile = dynamic_shared<mem<float>>();`
template <typename T>
__device__ __forceinline__ T* dynamic_shared() {
  extern __shared__ __align__(16) unsigned char dynamic_shared_bytes[];
  return reinterpret_cast<T*>(dynamic_shared_bytes);
}

/// The same memory as elements of a vector type; it must be aligned for them.
template <typename Vector, typename T>
__device__ __forceinline__ mem<Vector>* vector_cast(T* elements) {
  return reinterpret_cast<mem<Vector>*>(elements);
}
template <typename Vector, typename T>
__device__ __forceinline__ const mem<Vector>* vector_cast(const T* elements) {
  return reinterpret_cast<const mem<Vector>*>(elements);
}

/// Copies `bytes` from `data`, of the host or the GPU, to the beginning of a __constant__ array, in order with the
/// launches on call.stream.
/// Throws Error for more bytes than the array has.
template <typename Symbol>
void set_constant(const Call& call, const Symbol& symbol, const void* data, std::size_t bytes) {
  check_cuda(cudaMemcpyToSymbolAsync(symbol, data, bytes, 0, cudaMemcpyDefault, static_cast<cudaStream_t>(call.stream)),
             "filling constant memory");
}

template <typename... Parameters, typename... Arguments>
void launch_as(LaunchKind kind, const Call& call, void (*kernel)(Parameters...), Arguments... arguments) {
  std::tuple<Parameters...> values(arguments...);
  std::apply(
      [&](auto&... value) {
        void* addresses[] = {const_cast<void*>(static_cast<const void*>(&value))...};
        launch_on_device(call, reinterpret_cast<const void*>(kernel), addresses, kind);
      },
      values);
}

template <typename... Parameters, typename... Arguments>
void launch_after(bool early, const Call& call, void (*kernel)(Parameters...), Arguments... arguments) {
  launch_as(early ? LaunchKind::early : LaunchKind::ordinary, call, kernel, arguments...);
}

template <typename... Parameters, typename... Arguments>
void launch(const Call& call, void (*kernel)(Parameters...), Arguments... arguments) {
  launch_as(LaunchKind::ordinary, call, kernel, arguments...);
}

inline bool add_gpu_kernel(Kernel kernel) { return add_kernel(std::move(kernel)); }

}  // namespace cuda
}  // namespace rung
