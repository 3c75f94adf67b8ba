/// Atomic functions on elements of global and shared memory, for the types that CUDA supports.
#pragma once

#include <concepts>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace rung {
inline namespace RUNG_EMULATION {

/// A value as it is exchanged at a convergence point, or compared later.
template <typename T>
RUNG_INLINE std::uint64_t to_bits(T value) {
  static_assert(sizeof(T) <= sizeof(std::uint64_t));
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  return bits;
}

template <typename T, typename... Types>
concept OneOf = (std::same_as<T, Types> || ...);

// The new value of an element x, given the operand v.
struct AtomicSum {
  template <typename T>
  RUNG_INLINE T operator()(T x, T v) const {
    if constexpr (std::is_integral_v<T>)  // wraps around
      return static_cast<T>(static_cast<std::make_unsigned_t<T>>(x) + static_cast<std::make_unsigned_t<T>>(v));
    else
      return x + v;
  }
};
/// A sum that adds one, as a compile-time constant: shared memory has an instruction for that.
struct AtomicCount : AtomicSum {};
struct AtomicDifference {
  template <typename T>
  RUNG_INLINE T operator()(T x, T v) const {
    return static_cast<T>(static_cast<std::make_unsigned_t<T>>(x) - static_cast<std::make_unsigned_t<T>>(v));
  }
};
struct AtomicExchange {
  template <typename T>
  RUNG_INLINE T operator()(T, T v) const {
    return v;
  }
};
struct AtomicMinimum {
  template <typename T>
  RUNG_INLINE T operator()(T x, T v) const {
    return v < x ? v : x;
  }
};
struct AtomicMaximum {
  template <typename T>
  RUNG_INLINE T operator()(T x, T v) const {
    return x < v ? v : x;
  }
};
struct AtomicAnd {
  template <typename T>
  RUNG_INLINE T operator()(T x, T v) const {
    return x & v;
  }
};
struct AtomicOr {
  template <typename T>
  RUNG_INLINE T operator()(T x, T v) const {
    return x | v;
  }
};
struct AtomicXor {
  template <typename T>
  RUNG_INLINE T operator()(T x, T v) const {
    return x ^ v;
  }
};
struct AtomicIncrement {
  RUNG_INLINE unsigned operator()(unsigned x, unsigned last) const { return x >= last ? 0 : x + 1; }
};
struct AtomicDecrement {
  RUNG_INLINE unsigned operator()(unsigned x, unsigned last) const { return x == 0 || x > last ? last : x - 1; }
};
template <typename T>
struct AtomicReplacement {
  T expected;
  RUNG_INLINE T operator()(T x, T v) const { return x == expected ? v : x; }
};

/// Whether a change may be repeated depending on its result: the lanes of a warp execute it at the same time, one after
/// the other.
template <typename Change>
constexpr bool is_attempt = std::same_as<Change, AtomicExchange>;
template <typename T>
constexpr bool is_attempt<AtomicReplacement<T>> = true;

RUNG_UNTRACED inline void await_change(bool is_changed, const void* element, std::uint64_t seen) {
  if (!is_changed) wait_for_change(element, seen);
}

/// Changes the element, as one atomic instruction does. Returns its old value.
template <typename T, typename Change>
RUNG_INLINE reg<T> change_at(mem<T>* element, Change change, T operand) {
  if constexpr (is_attempt<Change>) pause_before_attempt(element);
  if constexpr (std::same_as<Change, AtomicSum> && std::is_integral_v<T> && sizeof(T) == 4)
    if (__builtin_constant_p(operand == 1) && operand == 1) return change_at(element, AtomicCount{}, operand);
  const T old = exchange_at(element, change, operand);
  await_change(change(old, operand) != old, element, to_bits(old));
  return old;
}

#define RUNG_ATOMIC(name, Change, ...)                                                      \
  template <OneOf<__VA_ARGS__> T>                                                           \
  RUNG_INLINE reg<T> name(mem<T>* element, std::type_identity_t<reg<T>> operand) {          \
    return change_at(element, Change{}, static_cast<T>(operand));                           \
  }                                                                                         \
  template <OneOf<__VA_ARGS__> T>                                                           \
  RUNG_INLINE reg<T> name##_block(mem<T>* element, std::type_identity_t<reg<T>> operand) {  \
    return change_at(element, Change{}, static_cast<T>(operand));                           \
  }                                                                                         \
  template <OneOf<__VA_ARGS__> T>                                                           \
  RUNG_INLINE reg<T> name##_system(mem<T>* element, std::type_identity_t<reg<T>> operand) { \
    return change_at(element, Change{}, static_cast<T>(operand));                           \
  }

RUNG_ATOMIC(atomicAdd, AtomicSum, int, unsigned, unsigned long long, float, double)
RUNG_ATOMIC(atomicSub, AtomicDifference, int, unsigned)
RUNG_ATOMIC(atomicExch, AtomicExchange, int, unsigned, unsigned long long, float)
RUNG_ATOMIC(atomicMin, AtomicMinimum, int, unsigned, long long, unsigned long long)
RUNG_ATOMIC(atomicMax, AtomicMaximum, int, unsigned, long long, unsigned long long)
RUNG_ATOMIC(atomicAnd, AtomicAnd, int, unsigned, unsigned long long)
RUNG_ATOMIC(atomicOr, AtomicOr, int, unsigned, unsigned long long)
RUNG_ATOMIC(atomicXor, AtomicXor, int, unsigned, unsigned long long)
RUNG_ATOMIC(atomicInc, AtomicIncrement, unsigned)
RUNG_ATOMIC(atomicDec, AtomicDecrement, unsigned)
#undef RUNG_ATOMIC

/// Stores `value` where the element is `expected`.
template <OneOf<unsigned short, int, unsigned, unsigned long long> T>
RUNG_INLINE T atomicCAS(mem<T>* element, std::type_identity_t<T> expected, std::type_identity_t<T> value) {
  return change_at(element, AtomicReplacement<T>{expected}, value);
}

}  // namespace RUNG_EMULATION
}  // namespace rung
