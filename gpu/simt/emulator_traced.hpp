/// Memory accesses of the traced build: each of these functions is inlined down to a single call, whose return address
/// identifies the access.
#pragma once

#include <bit>
#include <functional>

#include "gpu/simt/emulator_value.hpp"

#ifndef __clang__
/// Calls of these in kernels' files are checked like accesses by plain types (common/emulator/plain_access.cpp).
extern "C" {
void* memcpy(void* to, const void* from, std::size_t bytes) noexcept __asm__("rung_traced_memcpy");
void* memmove(void* to, const void* from, std::size_t bytes) noexcept __asm__("rung_traced_memmove");
void* memset(void* to, int byte, std::size_t bytes) noexcept __asm__("rung_traced_memset");
}
#endif

/// Device functions are inlined into the kernel; otherwise the accesses of two calls would have the same return
/// addresses.
#define RUNG_KERNEL __attribute__((flatten))

/// An array of shared memory, preceded by a gap in which accesses beyond the end of another array are detected.
#define RUNG_SHARED                                                                 \
  [[gnu::used]] static thread_local long long RUNG_JOIN(rung_gap_, __COUNTER__)[8]; \
  static RUNG_CONSTINIT thread_local
#ifdef __clang__
#define RUNG_CONSTINIT
#else
#define RUNG_CONSTINIT constinit  // otherwise g++ checks at each entry of the function whether it is initialised
#endif
#define RUNG_JOIN(a, b) RUNG_JOIN_EXPANDED(a, b)
#define RUNG_JOIN_EXPANDED(a, b) a##b

namespace rung {
inline namespace traced {

/// Prevents a tail call, which would be a jump without a return address.
RUNG_INLINE void not_last() { asm volatile(""); }

template <typename T>
RUNG_INLINE reg<T> load_from(const mem<T>* element) {
  return element->load();
}
template <typename T>
RUNG_INLINE reg<T> load_past_l1_from(const mem<T>* element) {
  return element->load_past_l1();
}

template <typename T>
RUNG_INLINE void store_to(mem<T>* element, T value) {
  element->store(value);
}

/// Replaces the element x by change(x, operand) atomically; returns x.
template <typename T, typename Change>
RUNG_INLINE T exchange_at(mem<T>* element, Change change, T operand) {
  const T old = element->exchange(change, operand);
  not_last();
  return old;
}

/// Records the accesses of an asynchronous copy and starts it. `zeros`: the number of bytes at the end that are not
/// read but zeroed; none or all.
RUNG_UNTRACED inline void record_and_open_copy(void* to, const void* from, std::size_t bytes, std::size_t zeros) {
  static constexpr std::uint64_t kZeros[2] = {};
  const void* site = __builtin_return_address(0);
  const auto size = static_cast<std::uint64_t>(std::countr_zero(bytes));
  if (zeros != 0 && zeros != bytes)
    fail_thread(finding_kind::not_emulated,
                "an asynchronous copy that zeroes a part of its " + std::to_string(bytes) + " bytes");
  if (zeros == 0) record(from, size | AccessKind::kAsync, site);
  record(to, size | AccessKind::kAsync | AccessKind::kStore, site, Ordering::async);
  open_copy(to, zeros == 0 ? from : kZeros, bytes);
}

RUNG_INLINE void begin_copy(void* to, const void* from, std::size_t bytes, std::size_t zeros) {
  record_and_open_copy(to, from, bytes, zeros);
  not_last();
}
RUNG_INLINE void end_copies() { commit_copies(); }
RUNG_INLINE void await_copies(std::size_t latest_groups_left) { wait_for_copies(latest_groups_left); }

/// Whether accesses by a pointer of this type are unseen: it points to a number, or to a struct such as float4.
template <typename Pointer>
constexpr bool points_to_plain() {
  using Element = std::remove_cv_t<std::remove_pointer_t<Pointer>>;
  if constexpr (!std::is_pointer_v<Pointer>)
    return false;
  else
    return std::is_arithmetic_v<Element> || std::is_enum_v<Element> || requires(Element element) { element.x; };
}

inline void set_body(Kernel& kernel, std::function<void(const Call&)> body) { kernel.gpu.emulate = std::move(body); }

}  // namespace traced
}  // namespace rung
