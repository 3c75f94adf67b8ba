/// Element and variable types of the traced build: mem<T> records every load and store, reg<T> counts every
/// floating-point operation. For integers, loads and stores are recorded, but arithmetic is not counted.
///
/// The accesses of the lanes of a warp are matched by return address, which must be unique for each load or store in
/// the kernel's source: so load() and store() are never inlined, and everything that calls them always is.
#pragma once

#include <bit>
#include <cmath>
#include <compare>
#include <concepts>
#include <limits>
#include <type_traits>

#include "common/emulator/runtime.hpp"
#include "common/emulator/trace.hpp"

namespace rung {
inline namespace traced {

template <typename T>
concept Plain = std::is_arithmetic_v<T>;

template <typename T>
class CountingValue;
template <typename T>
class Product;
template <typename T>
class Quotient;
template <typename T>
class mem;

/// A variable's type: counting for floating point, T itself for integers.
template <typename T>
using reg = std::conditional_t<std::is_floating_point_v<T>, CountingValue<T>, T>;

/// The scalar type behind an operand: float for float, mem<float>, reg<float>, and a product or quotient of them.
template <typename T>
struct ScalarOf {};
template <Plain T>
struct ScalarOf<T> {
  using type = T;
};
template <template <typename> class Proxy, Plain T>
requires std::same_as<Proxy<T>, CountingValue<T>> || std::same_as<Proxy<T>, Product<T>> ||
    std::same_as<Proxy<T>, Quotient<T>> || std::same_as<Proxy<T>, mem<T>>
struct ScalarOf<Proxy<T>> {
  using type = T;
};
template <typename T>
using scalar_of = typename ScalarOf<T>::type;

/// The operands of arithmetic; an operation is counted if one of them is Counted.
template <typename T>
concept NumberLike = requires {
  typename ScalarOf<T>::type;
};
template <typename T>
concept Counted = NumberLike<T> && !Plain<T> && std::is_floating_point_v<scalar_of<T>>;
template <typename L, typename R>
concept CountedPair = NumberLike<L> && NumberLike<R> &&(Counted<L> || Counted<R>);

/// The type in which C++ computes L op R.
template <typename L, typename R>
using Common = decltype(scalar_of<L>{} + scalar_of<R>{});

template <Plain T>
RUNG_INLINE T counted_fma(T a, T b, T c) {
  tally<T>(&Operations::fmas);
  return std::fma(a, b, c);
}

/// Whether x is this number at compile time, and so for the GPU's compiler, too.
template <Plain T>
RUNG_INLINE bool is_known(T x, int number) {
  return __builtin_constant_p(x) && x == static_cast<T>(number);
}

/// a * b, not evaluated until it is known whether an addition follows, with which a GPU's compiler would fuse it.
/// Constant factors are treated as nvcc 13.0 compiles them: a factor of 1 costs nothing, and 2 is an addition of the
/// value to itself, which fuses in a sum of two products or terms but not in a difference.
template <typename T>
class [[nodiscard]] Product {
 public:
  RUNG_INLINE Product(T a, T b, bool is_of_a_product = false) : a_(a), b_(b), is_of_a_product_(is_of_a_product) {}
  Product(const Product&) = delete;
  Product& operator=(const Product&) = delete;

  RUNG_INLINE T value() const {
    if (has_factor(2)) {
      tally<T>(is_of_a_product_ ? &Operations::fmas : &Operations::adds);  // a * b + a * b is fused
    } else if (!has_factor(1) && !has_factor(-1)) {
      tally<T>(&Operations::muls);
    }
    return a_ * b_;
  }
  RUNG_INLINE T plus(T c) const { return has_factor(-2) ? sum_of_three(c) : fused(c); }
  RUNG_INLINE T minus(T c) const { return has_factor(2) || has_factor(-2) ? sum_of_three(-c) : fused(-c); }
  RUNG_INLINE T subtracted_from(T c) const { return (-*this).minus(-c); }
  RUNG_INLINE Product operator-() const { return {a_, -b_}; }
  RUNG_INLINE operator T() const { return value(); }

 private:
  RUNG_INLINE bool has_factor(int number) const { return is_known(a_, number) || is_known(b_, number); }
  RUNG_INLINE T fused(T c) const {
    if (!has_factor(1) && !has_factor(-1)) return counted_fma(a_, b_, c);
    tally<T>(&Operations::adds);
    return a_ * b_ + c;
  }
  RUNG_INLINE T sum_of_three(T c) const {
    tally<T>(&Operations::adds);
    tally<T>(&Operations::adds);
    return a_ * b_ + c;
  }

  T a_, b_;
  bool is_of_a_product_;
};

/// Whether 1 / x is exact, and neither is subnormal: x is plus or minus a power of two.
template <std::floating_point T>
RUNG_INLINE bool has_exact_inverse(T x) {
  using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  constexpr int kFraction = std::numeric_limits<T>::digits - 1;
  constexpr Bits kMostExponent = (Bits{1} << (8 * sizeof(T) - 1 - kFraction)) - 1;
  const Bits bits = std::bit_cast<Bits>(x), exponent = bits >> kFraction & kMostExponent;
  return (bits & ((Bits{1} << kFraction) - 1)) == 0 && exponent > 0 && exponent < kMostExponent - 1;
}

/// a / b. A GPU's compiler multiplies by the inverse of a constant power of two, and may then fuse the product.
template <typename T>
class [[nodiscard]] Quotient {
 public:
  RUNG_INLINE Quotient(T a, T b) : a_(a), b_(b) {}
  Quotient(const Quotient&) = delete;
  Quotient& operator=(const Quotient&) = delete;

  RUNG_INLINE T value() const {
    if (is_a_product()) return Product<T>(a_, 1 / b_).value();
    tally<T>(&Operations::specials);
    return a_ / b_;
  }
  RUNG_INLINE T plus(T c) const { return is_a_product() ? Product<T>(a_, 1 / b_).plus(c) : added(c); }
  RUNG_INLINE T minus(T c) const { return is_a_product() ? Product<T>(a_, 1 / b_).minus(c) : added(-c); }
  RUNG_INLINE T subtracted_from(T c) const { return (-*this).minus(-c); }
  RUNG_INLINE Quotient operator-() const { return {a_, -b_}; }
  RUNG_INLINE operator T() const { return value(); }

 private:
  RUNG_INLINE T added(T c) const {
    tally<T>(&Operations::adds);
    return value() + c;
  }
  RUNG_INLINE bool is_a_product() const { return __builtin_constant_p(b_) && has_exact_inverse(b_); }

  T a_, b_;
};

template <Plain T>
RUNG_INLINE T scalar(T x) {
  return x;
}
template <typename T>
RUNG_INLINE T scalar(const CountingValue<T>& x) {
  return x.value();
}
template <typename T>
RUNG_INLINE T scalar(const Product<T>& x) {
  return x.value();
}
template <typename T>
RUNG_INLINE T scalar(const Quotient<T>& x) {
  return x.value();
}
template <typename T>
RUNG_INLINE T scalar(const mem<T>& x) {
  return x.load();
}

/// The content of a variable without an initial value: -ftrivial-auto-var-init=pattern fills it with these bytes.
#ifdef __clang__
constexpr std::int64_t kUninitialised = -1;
#else
constexpr std::int64_t kUninitialised = static_cast<std::int64_t>(0xFEFE'FEFE'FEFE'FEFEu);
#endif

/// Fails the thread if nothing was ever assigned to the variable with this value, by an invalid instruction that the
/// emulator recognises by its bytes (BlockRunner::report_crash). A branch or a call would add basic blocks, and each
/// calls the emulator.
template <std::floating_point T>
RUNG_INLINE void require_initialised([[maybe_unused]] T value) {
#ifdef __x86_64__
  using Bits = std::conditional_t<sizeof(T) == 8, std::int64_t, std::int32_t>;
  if (__builtin_constant_p(value)) return;
  asm volatile(
      "cmp %1, %0\n\t"
      "jne 0f\n\t"
      ".byte 0x0f, 0xb9, 0xc0\n"
      "0:"
      :
      : "r"(std::bit_cast<Bits>(value)), "re"(static_cast<Bits>(kUninitialised))
      : "cc");
#endif
}

/// A floating-point variable. The conversion to a plain T is explicit, because plain arithmetic is not counted.
template <typename T>
class CountingValue {
 public:
  CountingValue() = default;
  template <NumberLike U>
  RUNG_INLINE CountingValue(const U& from) : value_(static_cast<T>(scalar(from))) {}

  RUNG_INLINE T value() const {
    require_initialised(value_);
    return value_;
  }
  template <Plain U>
  RUNG_INLINE explicit operator U() const {
    return static_cast<U>(value());
  }

  template <NumberLike U>
  RUNG_INLINE CountingValue& operator+=(const U& u) {
    return *this = CountingValue(*this + u);
  }
  template <NumberLike U>
  RUNG_INLINE CountingValue& operator-=(const U& u) {
    return *this = CountingValue(*this - u);
  }
  template <NumberLike U>
  RUNG_INLINE CountingValue& operator*=(const U& u) {
    return *this = CountingValue(*this * u);
  }
  template <NumberLike U>
  RUNG_INLINE CountingValue& operator/=(const U& u) {
    return *this = CountingValue(*this / u);
  }
  RUNG_INLINE CountingValue operator-() const { return -value(); }  // not counted: GPU instructions can negate operands
  RUNG_INLINE CountingValue operator+() const { return *this; }

 private:
  T value_;
};

struct AtomicSum;
struct AtomicCount;
struct AtomicExchange;
template <typename T>
struct AtomicReplacement;

/// How shared memory executes an atomic change. It has no instruction for sums of floating-point numbers, and for 8
/// bytes only exchanges. AtomicCount is used for a change whose result is not used.
template <typename Change, typename T>
constexpr std::uint64_t atomic_kind() {
  if constexpr (std::same_as<Change, AtomicReplacement<T>>)
    return AccessKind::kCompare;
  else if constexpr (std::same_as<Change, AtomicCount>)
    return AccessKind::kInOnePass;
  else if constexpr (std::is_floating_point_v<T> && std::same_as<Change, AtomicSum>)
    return AccessKind::kByAttempts | AccessKind::kAddition;
  else
    return sizeof(T) == 8 && !std::same_as<Change, AtomicExchange> ? AccessKind::kByAttempts : 0;
}

/// An element of an array in global or shared memory: as large as T, with every access recorded. T is a number, a
/// pointer, or a vector type such as float4, which one instruction loads or stores.
template <typename T>
class mem {
 public:
  mem() = default;  // trivial, so that a __shared__ array needs no initialisation
  mem(const mem&) = delete;

  RUNG_UNTRACED T load() const {
    record(this, kSize, __builtin_return_address(0));
    return element_;
  }
  RUNG_UNTRACED T load_past_l1() const {
    record(this, kSize | AccessKind::kPastL1, __builtin_return_address(0));
    return element_;
  }
  /// A load of a flag that another thread may write concurrently.
  RUNG_UNTRACED T load() const volatile {
    record(const_cast<const mem*>(this), kSize, __builtin_return_address(0), Ordering::is_volatile);
    yield_before_load(const_cast<const mem*>(this), sizeof(T));
    return const_cast<const mem*>(this)->element_;
  }
  RUNG_INLINE void store(T value) {
    record_store(value, Ordering::plain);
    asm volatile("");  // prevents a tail call, which would have the return address of another function
  }
  RUNG_INLINE void store(T value) volatile {
    const_cast<mem*>(this)->record_store(value, Ordering::is_volatile);
    asm volatile("");
  }
  /// Replaces the element x by change(x, operand) atomically; returns x.
  template <typename Change>
  RUNG_UNTRACED T exchange(Change change, T operand) {
    constexpr std::uint64_t kKind = kSize | AccessKind::kStore | AccessKind::kAtomic;
    record(this, kKind | atomic_kind<Change, T>(), __builtin_return_address(0), Ordering::atomic);
    // Atomic, since blocks run on several OS threads; without functions, which would be traced.
    T old, changed;
    __atomic_load(&element_, &old, __ATOMIC_RELAXED);
    do changed = change(old, operand);
    while (!__atomic_compare_exchange(&element_, &old, &changed, true, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
    return old;
  }
  /// Implicit to T only, so that `inside ? a[i] : 0` is a float as in CUDA, not an int.
  template <Plain U>
  requires std::is_floating_point_v<T> RUNG_INLINE explicit(!std::same_as<U, T>) operator U() const {
    return static_cast<U>(load());
  }
  template <Plain U>
  requires std::is_floating_point_v<T> RUNG_INLINE explicit(!std::same_as<U, T>) operator U() const volatile {
    return static_cast<U>(load());
  }
  RUNG_INLINE operator T() const requires(!std::is_floating_point_v<T>) { return load(); }
  RUNG_INLINE operator T() const volatile requires(!std::is_floating_point_v<T> && !std::is_class_v<T>) {
    return load();
  }

  template <NumberLike U>
  RUNG_INLINE reg<T> operator=(const U& from) {
    return assign(static_cast<T>(scalar(from)));
  }
  template <NumberLike U>
  RUNG_INLINE void operator=(const U& from) volatile {
    store(static_cast<T>(scalar(from)));
  }
  RUNG_INLINE void operator=(const T& from) requires(std::is_class_v<T> || std::is_pointer_v<T>) { store(from); }
  RUNG_INLINE reg<T> operator=(const mem& from) { return assign(from.load()); }
  template <NumberLike U>
  RUNG_INLINE reg<T> operator+=(const U& u) {
    return assign(static_cast<T>(scalar(reg<T>(load()) + u)));
  }
  template <NumberLike U>
  RUNG_INLINE reg<T> operator-=(const U& u) {
    return assign(static_cast<T>(scalar(reg<T>(load()) - u)));
  }
  template <NumberLike U>
  RUNG_INLINE reg<T> operator*=(const U& u) {
    return assign(static_cast<T>(scalar(reg<T>(load()) * u)));
  }
  template <NumberLike U>
  RUNG_INLINE reg<T> operator/=(const U& u) {
    return assign(static_cast<T>(scalar(reg<T>(load()) / u)));
  }
  RUNG_INLINE T operator++(int) requires std::is_integral_v<T> {
    const T old = load();
    store(old + 1);
    return old;
  }
  RUNG_INLINE T operator++() requires std::is_integral_v<T> { return assign(load() + 1); }

 private:
  static constexpr std::uint64_t kSize = std::countr_zero(sizeof(T));
  static_assert(sizeof(T) <= 16 && std::has_single_bit(sizeof(T)), "one instruction moves 1, 2, 4, 8 or 16 bytes");

  RUNG_UNTRACED void record_store(T value, Ordering ordering) {
    record(this, kSize | AccessKind::kStore, __builtin_return_address(0), ordering);
    element_ = value;
  }
  RUNG_INLINE T assign(T value) {
    store(value);
    return value;
  }

  T element_;
};

/// A plain variable that takes part in arithmetic on elements: the operations would not be counted.
template <typename Number>
struct PlainVariable {
  static_assert(
      !std::is_arithmetic_v<Number>,
      "declare the variable as reg<T>, as reg<float> sum = 0: operations on a plain variable are not counted");
};
#define RUNG_REFUSE_PLAIN(op)                     \
  template <Plain Variable, Counted Operand>      \
  void operator op(Variable&, const Operand&) {   \
    static_cast<void>(PlainVariable<Variable>{}); \
  }
RUNG_REFUSE_PLAIN(+=)
RUNG_REFUSE_PLAIN(-=)
RUNG_REFUSE_PLAIN(*=)
RUNG_REFUSE_PLAIN(/=)
#undef RUNG_REFUSE_PLAIN

template <typename L, typename R>
requires CountedPair<L, R> RUNG_INLINE Product<Common<L, R>>
operator*(const L& l, const R& r) {
  const Common<L, R> left = scalar(l);
  return {left, static_cast<Common<L, R>>(scalar(r)), std::same_as<L, Product<Common<L, R>>>};
}

/// Whether L is a product, or may be one, that fuses with an addition in type C.
template <typename L, typename C>
concept Fuses = std::same_as<L, Product<C>> || std::same_as<L, Quotient<C>>;

template <typename L, typename R>
requires CountedPair<L, R> RUNG_INLINE CountingValue<Common<L, R>>
operator+(const L& l, const R& r) {
  using C = Common<L, R>;
  if constexpr (Fuses<L, C>) {
    return l.plus(scalar(r));
  } else if constexpr (Fuses<R, C>) {
    return r.plus(scalar(l));
  } else {
    tally<C>(&Operations::adds);
    const C left = scalar(l);
    return left + static_cast<C>(scalar(r));
  }
}

template <typename L, typename R>
requires CountedPair<L, R> RUNG_INLINE CountingValue<Common<L, R>>
operator-(const L& l, const R& r) {
  using C = Common<L, R>;
  if constexpr (Fuses<L, C>) {
    return l.minus(static_cast<C>(scalar(r)));
  } else if constexpr (Fuses<R, C>) {
    return r.subtracted_from(scalar(l));
  } else {
    tally<C>(&Operations::adds);
    const C left = scalar(l);
    return left - static_cast<C>(scalar(r));
  }
}

template <typename L, typename R>
requires CountedPair<L, R> RUNG_INLINE Quotient<Common<L, R>>
operator/(const L& l, const R& r) {
  const Common<L, R> left = scalar(l);
  return {left, static_cast<Common<L, R>>(scalar(r))};
}

template <typename T>
requires std::is_floating_point_v<T> RUNG_INLINE CountingValue<T>
operator-(const mem<T>& x) { return -x.load(); }

template <typename L, typename R>
requires CountedPair<L, R> RUNG_INLINE bool operator==(const L& l, const R& r) {
  const Common<L, R> left = scalar(l);
  return left == static_cast<Common<L, R>>(scalar(r));
}

template <typename L, typename R>
requires CountedPair<L, R> RUNG_INLINE auto operator<=>(const L& l, const R& r) {
  const Common<L, R> left = scalar(l);
  return left <=> static_cast<Common<L, R>>(scalar(r));
}

static_assert(sizeof(mem<float>) == 4 && sizeof(mem<double>) == 8 && alignof(mem<double>) == alignof(double));
static_assert(std::is_trivially_default_constructible_v<mem<float>> &&
              std::is_trivially_copyable_v<CountingValue<float>>);

}  // namespace traced
}  // namespace rung
