/// The emulator's side of simt.hpp: CUDA's vocabulary as ordinary C++, so that g++ compiles a kernel's file as it is.
/// A block's threads run one at a time on one OS thread; that is why a block's shared memory can be thread_local.
/// All names are in an inline namespace of their own, since the CUDA build of the same file is linked beside it.
#pragma once

#include <algorithm>
#include <cmath>
#include <source_location>
#include <tuple>
#include <utility>

#include "gpu/simt/emulator_value.hpp"

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __shared__ static thread_local

namespace rung {
inline namespace emulated {

struct uint3 {
  unsigned x = 0, y = 0, z = 0;
};
struct dim3 {
  unsigned x = 1, y = 1, z = 1;
};

constinit inline thread_local uint3 threadIdx, blockIdx;
constinit inline thread_local dim3 blockDim, gridDim;
constexpr int warpSize = 32;

/// Waits for every thread of the block that has not ended. Defined in emulator_block.cpp.
void wait_for_block(std::source_location where);

RUNG_INLINE void __syncthreads(std::source_location where = std::source_location::current()) { wait_for_block(where); }

/// The block's dynamic shared memory: `mem<float>* tile = dynamic_shared<mem<float>>();`
template <typename T>
RUNG_INLINE T* dynamic_shared() {
  return reinterpret_cast<T*>(trace.dynamic_shared.begin);
}

template <typename T>
RUNG_INLINE reg<T> __ldg(const mem<T>* element) {
  return element->load();
}

// Minimum, maximum and absolute value are no floating-point operations to a GPU's counters.
template <typename L, typename R>
requires CountedPair<L, R> RUNG_INLINE Value<Common<L, R>> min(const L& l, const R& r) {
  const Common<L, R> left = scalar(l);
  return std::fmin(left, static_cast<Common<L, R>>(scalar(r)));
}
template <typename L, typename R>
requires CountedPair<L, R> RUNG_INLINE Value<Common<L, R>> max(const L& l, const R& r) {
  const Common<L, R> left = scalar(l);
  return std::fmax(left, static_cast<Common<L, R>>(scalar(r)));
}
template <typename L, typename R>
requires(Operand<L>&& Operand<R> && !CountedPair<L, R>) RUNG_INLINE Common<L, R> min(const L& l, const R& r) {
  return std::min<Common<L, R>>(scalar(l), scalar(r));
}
template <typename L, typename R>
requires(Operand<L>&& Operand<R> && !CountedPair<L, R>) RUNG_INLINE Common<L, R> max(const L& l, const R& r) {
  return std::max<Common<L, R>>(scalar(l), scalar(r));
}

template <Counted T>
using Result = Value<scalar_of<T>>;

#define RUNG_COUNTED_FUNCTION(name, counter, expression) \
  using ::name;                                          \
  template <Counted T>                                   \
  RUNG_INLINE Result<T> name(const T& operand) {         \
    const scalar_of<T> x = scalar(operand);              \
    counter;                                             \
    return expression;                                   \
  }
#define RUNG_SPECIAL_FUNCTION(name) \
  RUNG_COUNTED_FUNCTION(name, ++operations<scalar_of<T>>().specials, static_cast<scalar_of<T>>(std::name(x)))

RUNG_COUNTED_FUNCTION(fabs, (void)0, std::fabs(x))
RUNG_COUNTED_FUNCTION(fabsf, (void)0, std::fabs(x))
RUNG_SPECIAL_FUNCTION(sqrt)
RUNG_SPECIAL_FUNCTION(exp)
RUNG_SPECIAL_FUNCTION(log)
RUNG_SPECIAL_FUNCTION(sin)
RUNG_SPECIAL_FUNCTION(cos)
RUNG_COUNTED_FUNCTION(sqrtf, ++operations<float>().specials, std::sqrt(x))
RUNG_COUNTED_FUNCTION(expf, ++operations<float>().specials, std::exp(x))
RUNG_COUNTED_FUNCTION(logf, ++operations<float>().specials, std::log(x))
RUNG_COUNTED_FUNCTION(sinf, ++operations<float>().specials, std::sin(x))
RUNG_COUNTED_FUNCTION(cosf, ++operations<float>().specials, std::cos(x))

#undef RUNG_SPECIAL_FUNCTION
#undef RUNG_COUNTED_FUNCTION

template <Operand T>
RUNG_INLINE reg<float> rsqrtf(const T& operand) {
  ++operations<float>().specials;
  return 1 / std::sqrt(static_cast<float>(scalar(operand)));
}

using ::fma;
using ::fmaf;
template <Operand A, Operand B, Operand C>
requires(Counted<A> || Counted<B> || Counted<C>) RUNG_INLINE reg<float> fmaf(const A& a, const B& b, const C& c) {
  const float left = scalar(a), right = scalar(b);
  return counted_fma<float>(left, right, scalar(c));
}
template <Operand A, Operand B, Operand C>
requires(Counted<A> || Counted<B> || Counted<C>) RUNG_INLINE reg<double> fma(const A& a, const B& b, const C& c) {
  const double left = scalar(a), right = scalar(b);
  return counted_fma<double>(left, right, scalar(c));
}

/// Runs `body(closure)` as every thread of call.launch; see emulator.cpp.
void run_emulated(const Call& call, const void* kernel, void (*body)(const void*), const void* closure);

/// Runs the kernel to its end. Throws Error that names the block and the thread that failed.
template <typename... Parameters, typename... Arguments>
void launch(const Call& call, void (*kernel)(Parameters...), Arguments... arguments) {
  const auto closure = [kernel, values = std::tuple<Parameters...>(arguments...)] { std::apply(kernel, values); };
  run_emulated(
      call, reinterpret_cast<const void*>(kernel),
      [](const void* code) { (*static_cast<const decltype(closure)*>(code))(); }, &closure);
}

/// This build of the file knows how to emulate the kernel, not how to run it on a GPU.
inline bool add_gpu_kernel(Kernel kernel) {
  kernel.emulate = kernel.not_emulated.empty() ? std::exchange(kernel.run, nullptr) : nullptr;
  kernel.run = nullptr;
  return add_kernel(std::move(kernel));
}

}  // namespace emulated
}  // namespace rung
