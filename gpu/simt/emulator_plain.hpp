/// Element and variable types of the plain build: mem<T> and reg<T> are T, and nothing is counted. Has the same
/// interface as emulator_value.hpp and emulator_traced.hpp, so that the CUDA vocabulary is written once for both
/// builds.
#pragma once

#include <atomic>
#include <cmath>
#include <concepts>
#include <cstring>
#include <type_traits>

#include "common/emulator/emulator.hpp"
#include "common/emulator/runtime.hpp"

#define RUNG_INLINE [[gnu::always_inline]] inline
#define RUNG_UNTRACED [[gnu::always_inline]]  // there is no trace
#define RUNG_KERNEL
#define RUNG_SHARED static thread_local

namespace rung {
inline namespace plain {

template <typename T>
using mem = T;
template <typename T>
using reg = T;

template <typename T>
concept Plain = std::is_arithmetic_v<T>;
template <typename T>
concept NumberLike = Plain<T>;
template <typename T>
concept Counted = false;

template <typename T>
using scalar_of = T;
template <typename L, typename R>
using Common = decltype(L{} + R{});

template <Plain T>
RUNG_INLINE T scalar(T x) {
  return x;
}

using OperationKind = std::uint64_t Operations::*;

template <typename T>
RUNG_INLINE void tally(OperationKind) {}
RUNG_INLINE void tally_tensor(std::uint64_t) {}

template <typename T>
RUNG_INLINE T load_from(const T* element) {
  return *element;
}
template <typename T>
RUNG_INLINE T load_past_l1_from(const T* element) {
  return *element;
}

template <typename T>
RUNG_INLINE void store_to(T* element, T value) {
  *element = value;
}

template <typename T, typename Change>
RUNG_INLINE T exchange_at(T* element, Change change, T operand) {
  std::atomic_ref<T> atomic(*element);  // blocks run on several OS threads
  T old = atomic.load(std::memory_order_relaxed);
  while (!atomic.compare_exchange_weak(old, change(old, operand))) {
  }
  return old;
}

/// A copy may complete at any time until it is waited for; here it does at once.
RUNG_INLINE void begin_copy(void* to, const void* from, std::size_t bytes, std::size_t zeros) {
  std::memcpy(to, from, bytes - zeros);
  std::memset(static_cast<std::byte*>(to) + (bytes - zeros), 0, zeros);
}
RUNG_INLINE void end_copies() {}
RUNG_INLINE void await_copies(std::size_t) {}

template <typename Pointer>
constexpr bool points_to_plain() {
  return false;
}

inline void set_body(Kernel& kernel, std::function<void(const Call&)> body) { kernel.gpu.answer = std::move(body); }

}  // namespace plain
}  // namespace rung
