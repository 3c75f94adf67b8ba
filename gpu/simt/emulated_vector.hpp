/// CUDA's vector types: one instruction loads or stores such an element, and arithmetic on its members is counted.
#pragma once

#include <cstddef>

namespace rung {
inline namespace RUNG_EMULATION {

// may_alias: with vector_cast, the type of an access can differ from the element type of its array.
#define RUNG_VECTOR_1(type, name, alignment)                      \
  struct [[gnu::may_alias]] alignas(alignment) name##1 {          \
    reg<type> x;                                                  \
  };                                                              \
  RUNG_INLINE name##1 make_##name##1(reg<type> x) { return {x}; } \
  static_assert(sizeof(name##1) == sizeof(type));
#define RUNG_VECTOR_2(type, name, alignment)                                      \
  struct [[gnu::may_alias]] alignas(alignment) name##2 {                          \
    reg<type> x, y;                                                               \
  };                                                                              \
  RUNG_INLINE name##2 make_##name##2(reg<type> x, reg<type> y) { return {x, y}; } \
  static_assert(sizeof(name##2) == 2 * sizeof(type) && alignof(name##2) == 2 * sizeof(type));
#define RUNG_VECTOR_3(type, name, alignment)                                                      \
  struct [[gnu::may_alias]] alignas(alignment) name##3 {                                          \
    reg<type> x, y, z;                                                                            \
  };                                                                                              \
  RUNG_INLINE name##3 make_##name##3(reg<type> x, reg<type> y, reg<type> z) { return {x, y, z}; } \
  static_assert(sizeof(name##3) == 3 * sizeof(type) && alignof(name##3) == sizeof(type));
#define RUNG_VECTOR_4(type, name, alignment)                                                                      \
  struct [[gnu::may_alias]] alignas(alignment) name##4 {                                                          \
    reg<type> x, y, z, w;                                                                                         \
  };                                                                                                              \
  RUNG_INLINE name##4 make_##name##4(reg<type> x, reg<type> y, reg<type> z, reg<type> w) { return {x, y, z, w}; } \
  static_assert(sizeof(name##4) == 4 * sizeof(type) && alignof(name##4) == 4 * sizeof(type));

// Vectors of 2 or 4 are aligned to their size, vectors of 3 like their members. None is larger than the 16 bytes that
// one instruction moves, except some vectors of 3.
#define RUNG_VECTORS_TO_3(type, name)         \
  RUNG_VECTOR_1(type, name, sizeof(type))     \
  RUNG_VECTOR_2(type, name, 2 * sizeof(type)) \
  RUNG_VECTOR_3(type, name, sizeof(type))
#define RUNG_VECTORS_TO_4(type, name) \
  RUNG_VECTORS_TO_3(type, name)       \
  RUNG_VECTOR_4(type, name, 4 * sizeof(type))

RUNG_VECTORS_TO_4(signed char, char)
RUNG_VECTORS_TO_4(unsigned char, uchar)
RUNG_VECTORS_TO_4(short, short)
RUNG_VECTORS_TO_4(unsigned short, ushort)
RUNG_VECTORS_TO_4(int, int)
RUNG_VECTORS_TO_4(float, float)
RUNG_VECTORS_TO_3(long, long)
RUNG_VECTORS_TO_3(unsigned long, ulong)
RUNG_VECTORS_TO_3(long long, longlong)
RUNG_VECTORS_TO_3(unsigned long long, ulonglong)
RUNG_VECTORS_TO_3(double, double)
RUNG_VECTOR_1(unsigned, uint, sizeof(unsigned))
RUNG_VECTOR_2(unsigned, uint, 2 * sizeof(unsigned))
RUNG_VECTOR_4(unsigned, uint, 4 * sizeof(unsigned))
RUNG_INLINE uint3 make_uint3(unsigned x, unsigned y, unsigned z) { return {x, y, z}; }

#undef RUNG_VECTORS_TO_4
#undef RUNG_VECTORS_TO_3
#undef RUNG_VECTOR_4
#undef RUNG_VECTOR_3
#undef RUNG_VECTOR_2
#undef RUNG_VECTOR_1

/// The same memory as elements of a vector type; it must be aligned for them.
template <typename Vector, typename T>
RUNG_INLINE mem<Vector>* vector_cast(mem<T>* elements) {
  return reinterpret_cast<mem<Vector>*>(elements);
}
template <typename Vector, typename T>
RUNG_INLINE const mem<Vector>* vector_cast(const mem<T>* elements) {
  return reinterpret_cast<const mem<Vector>*>(elements);
}

}  // namespace RUNG_EMULATION
}  // namespace rung
