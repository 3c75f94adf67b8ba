/// simt.hpp for the emulator: CUDA's vocabulary as ordinary C++, so that g++ compiles a kernel's file unchanged.
/// Written once for the traced and the plain build: all of it is in the inline namespace RUNG_EMULATION, whose name
/// separates the two builds (and nvcc's, linked into the same program). The threads of a block run one at a time on one
/// OS thread, so its shared memory can be thread_local.
#pragma once

#include <cassert>
#include <cstring>
#include <source_location>
#include <string>
#include <tuple>
#include <utility>

#ifndef RUNG_EMULATION
#error "include gpu/simt/simt.hpp"
#endif

#define __global__ RUNG_KERNEL
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__  // also in system headers that use __attribute__((__noinline__))
#define __launch_bounds__(...)
#define __maxnreg__(...)
#define __cluster_dims__(...)
#define __grid_constant__
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __shared__ RUNG_SHARED
#define __constant__ static __attribute__((section("rung_constant")))

// A failed assertion ends the kernel, not the program.
#ifndef NDEBUG
#undef assert
#define assert(condition) \
  (static_cast<bool>(condition) ? void() : rung::fail_thread(rung::finding_kind::assertion, #condition))
#endif

// After an assumption that does not hold the behaviour is undefined. clang has this builtin itself.
#ifndef __clang__
#define __builtin_assume(condition) \
  (static_cast<bool>(condition) ? void() : rung::fail_thread(rung::finding_kind::assertion, "assumes " #condition))
#endif

// Each includes the headers that it needs.
#include "gpu/simt/emulated_intrinsics.hpp"
#include "gpu/simt/emulated_vector.hpp"
#include "gpu/simt/emulated_warp.hpp"

namespace rung {
inline namespace RUNG_EMULATION {

// ---- Barriers, fences, time ----

RUNG_INLINE void __syncthreads(Where where = Where::current()) { wait_for_block(0, where); }
RUNG_INLINE int __syncthreads_count(int predicate, Where where = Where::current()) {
  return wait_for_block(predicate != 0, where);
}
RUNG_INLINE int __syncthreads_and(int predicate, Where where = Where::current()) {
  return wait_for_block(predicate == 0, where) == 0;
}
RUNG_INLINE int __syncthreads_or(int predicate, Where where = Where::current()) {
  return wait_for_block(predicate != 0, where) != 0;
}

RUNG_INLINE void __threadfence_block() { fence_memory(true); }
RUNG_INLINE void __threadfence() { fence_memory(false); }
RUNG_INLINE void __threadfence_system() { fence_memory(false); }
RUNG_INLINE void __nanosleep(unsigned) { yield_thread(); }
[[noreturn]] inline void __trap() { fail_thread(finding_kind::assertion, "__trap()"); }

/// A counter that only increases: there is no clock to emulate.
RUNG_UNTRACED inline long long clock64() {
  static thread_local long long readings = 0;
  return ++readings;
}

// ---- Memory ----

/// The block's dynamic shared memory: `mem<float>* tile = dynamic_shared<mem<float>>();`
template <typename T>
RUNG_INLINE T* dynamic_shared() {
  return reinterpret_cast<T*>(dynamic_shared_memory);
}

// Loads and stores with cache hints, which do not change any count; __ldcg bypasses L1, which changes the result of the
// cache model.
#define RUNG_LOAD(name, from)                      \
  template <typename T>                            \
  RUNG_INLINE reg<T> name(const mem<T>* element) { \
    return from(element);                          \
  }
#define RUNG_STORE(name)                                                       \
  template <typename T>                                                        \
  RUNG_INLINE void name(mem<T>* element, std::type_identity_t<reg<T>> value) { \
    store_to(element, static_cast<T>(value));                                  \
  }
RUNG_LOAD(__ldg, load_from)
RUNG_LOAD(__ldca, load_from)
RUNG_LOAD(__ldcg, load_past_l1_from)
RUNG_LOAD(__ldcs, load_from)
RUNG_LOAD(__ldcv, load_from)
RUNG_LOAD(__ldlu, load_from)
RUNG_STORE(__stcg)
RUNG_STORE(__stcs)
RUNG_STORE(__stwb)
RUNG_STORE(__stwt)
#undef RUNG_LOAD
#undef RUNG_STORE

/// Fails the thread if the hardware would reject the copy.
RUNG_UNTRACED inline void check_copy(std::size_t bytes, std::size_t zeros) {
  if ((bytes != 4 && bytes != 8 && bytes != 16) || zeros > bytes)
    fail_thread(finding_kind::bad_asynchronous_copy, "of " + std::to_string(bytes) + " bytes, " +
                                                         std::to_string(zeros) +
                                                         " of them zeros: the size must be 4, 8 or 16 bytes");
}

/// Copies 4, 8 or 16 bytes from global to shared memory, without waiting; the last `zeros` of them become 0.
RUNG_INLINE void __pipeline_memcpy_async(void* to_shared, const void* from_global, std::size_t bytes,
                                         std::size_t zeros = 0) {
  check_copy(bytes, zeros);
  begin_copy(to_shared, from_global, bytes, zeros);
}
RUNG_INLINE void __pipeline_commit() { end_copies(); }
/// Waits for the thread's copies, except in the `latest` groups committed last.
RUNG_INLINE void __pipeline_wait_prior(std::size_t latest) { await_copies(latest); }

/// Copies `bytes` from `data` to the beginning of a __constant__ array before the next launch.
/// Throws Error for more bytes than the array has.
template <typename Symbol>
void set_constant(const Call&, Symbol& symbol, const void* data, std::size_t bytes) {
  if (bytes > sizeof(Symbol))
    throw Error("filling constant memory: " + std::to_string(bytes) + " bytes into an array of " +
                std::to_string(sizeof(Symbol)));
  std::memcpy(static_cast<void*>(&symbol), data, bytes);
}

// ---- The kernel as a whole ----

template <typename Parameter>
struct ParameterOfKernel {
  static_assert(!points_to_plain<Parameter>(),
                "a kernel's pointers point to mem<T>, as const mem<float>*: the emulator sees no access by others");
};

/// Runs the kernel to completion. Throws an Error that names the block and the thread that failed.
template <typename... Parameters, typename... Arguments>
void launch(const Call& call, void (*kernel)(Parameters...), Arguments... arguments) {
  (static_cast<void>(ParameterOfKernel<Parameters>{}), ...);
  const auto closure = [kernel, values = std::tuple<Parameters...>(arguments...)] { std::apply(kernel, values); };
  run_emulated(
      call, reinterpret_cast<const void*>(kernel),
      [](const void* code) { (*static_cast<const decltype(closure)*>(code))(); }, &closure, sizeof closure);
}

/// This build of the file can emulate the kernel but not run it on a GPU. Work before each run, such as filling
/// constant memory, is part of its body, since each build has separate constants.
inline bool add_gpu_kernel(Kernel kernel) {
  auto body = std::exchange(kernel.run, nullptr);
  if (auto reset = std::exchange(kernel.reset, nullptr))
    body = [reset = std::move(reset), run = std::move(body)](const Call& call) {
      reset(call);
      run(call);
    };
  if (kernel.gpu.not_emulated.empty()) set_body(kernel, std::move(body));
  return add_kernel(std::move(kernel));
}

}  // namespace RUNG_EMULATION
}  // namespace rung
