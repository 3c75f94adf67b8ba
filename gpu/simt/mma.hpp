/// Matrix instructions of a warp, of compute capability 8.0: ldmatrix and mma.sync, which execute on the tensor cores.
/// Not part of simt.hpp, since few kernels need it. All 32 lanes call each of these together. Records of kernels that
/// include this header have .min_compute_capability = 80 or more: compiled for an older GPU, mma() is a trap.
///
///   Fragments of C (16 x 8, float32): lane l holds row l / 4, columns 2 (l % 4) and the next, in sum[0] and sum[1];
///   eight rows below, in sum[2] and sum[3].
///   ldmatrix4(to, row)              four 8 x 8 matrices of 16-bit elements from shared memory: lanes 8 i to 8 i + 7
///                                   pass the addresses of matrix i's rows of 16 bytes; each lane receives elements
///                                   2 (l % 4) and the next of the matrix's row l / 4 in to[i]
///   ldmatrix4_transposed(to, row)   the same for the transposed matrices
///   mma<Type::bf16>(sum, a, b)      sum += A B for a 16 x 16 matrix A, whose 8 x 8 quarters a[0] to a[3] are above
///                                   left, below left, above right and below right, and B (16 x 8), transposed: b[0]
///                                   is its upper and b[1] its lower half. Also for Type::fp16.
///
/// The emulator executes them lane by lane, with the fragments where the hardware has them, and counts the
/// multiply-adds as tensor operations. It adds the exact products to the sum without rounding and truncates the result
/// to float32, as tensor cores do, except for the few bits that are lost when the products are aligned. Sources:
/// NVIDIA PTX ISA, warp-level matrix instructions; Fasi, Higham, Mikaitis, Pranesh: Numerical behavior of NVIDIA tensor
/// cores (PeerJ Computer Science, 2021).
#pragma once

#include "gpu/simt/simt.hpp"

#ifndef __CUDACC__
#include "common/problem/matmul.hpp"
#endif

namespace rung {

#ifdef __CUDACC__

inline namespace cuda {

__device__ __forceinline__ void ldmatrix4(unsigned (&to)[4], const uint4* row) {
  const auto at = static_cast<unsigned>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(at)
               : "memory");
}

__device__ __forceinline__ void ldmatrix4_transposed(unsigned (&to)[4], const uint4* row) {
  const auto at = static_cast<unsigned>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(at)
               : "memory");
}

template <Type kType>
__device__ __forceinline__ void mma(float (&sum)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
#define RUNG_MMA(type)                                                                \
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." type "." type                 \
               ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
               : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])               \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
  static_assert(kType == Type::bf16 || kType == Type::fp16);
#if __CUDA_ARCH__ < 800
  __trap();
#else
  if constexpr (kType == Type::bf16)
    RUNG_MMA("bf16");
  else
    RUNG_MMA("f16");
#endif
#undef RUNG_MMA
}

}  // namespace cuda

#else

inline namespace RUNG_EMULATION {

/// The values of these two words in every lane of the warp; fails the thread if a lane is missing.
RUNG_UNTRACED inline void exchange_words(unsigned first, unsigned second, unsigned (&firsts)[32],
                                         unsigned (&seconds)[32], Where where) {
  const auto bits = std::uint64_t{second} << 32 | first;
  const ConvergedLanes converged = converge_warp(ConvergencePoint::matrix, ~0u, bits, where);
  if (converged.lanes != ~0u)
    fail_thread(finding_kind::divergent_warp, "executes a matrix instruction without all lanes of its warp,", where);
  for (int lane = 0; lane < warpSize; ++lane) {
    firsts[lane] = static_cast<unsigned>(converged.values[lane]);
    seconds[lane] = static_cast<unsigned>(converged.values[lane] >> 32);
  }
}

/// Distributes the rows that the lanes loaded: each lane receives the elements that the instruction defines.
RUNG_UNTRACED inline void share_rows(unsigned (&to)[4], const uint4& row, bool is_transposed, Where where) {
  unsigned words[4][32];
  exchange_words(row.x, row.y, words[0], words[1], where);
  exchange_words(row.z, row.w, words[2], words[3], where);
  const auto element = [&](int matrix, unsigned r, unsigned c) {
    return words[c / 2][8 * matrix + r] >> (c % 2 * 16) & 0xffffu;
  };
  const unsigned lane = lane_of_thread(), own = lane / 4, pair = lane % 4 * 2;
  for (int i = 0; i < 4; ++i)
    to[i] = is_transposed ? element(i, pair, own) | element(i, pair + 1, own) << 16
                          : element(i, own, pair) | element(i, own, pair + 1) << 16;
}

RUNG_INLINE void ldmatrix4(unsigned (&to)[4], const mem<uint4>* row, Where where = Where::current()) {
  const uint4 own = *row;
  share_rows(to, own, false, where);
}
RUNG_INLINE void ldmatrix4_transposed(unsigned (&to)[4], const mem<uint4>* row, Where where = Where::current()) {
  const uint4 own = *row;
  share_rows(to, own, true, where);
}

/// The float32 of 16 bits.
template <Type kType>
RUNG_UNTRACED inline float widened(unsigned bits) {
  static_assert(kType == Type::bf16 || kType == Type::fp16);
  if constexpr (kType == Type::bf16)
    return from_bf16(static_cast<Bf16>(bits));
  else
    return from_fp16(static_cast<Fp16>(bits));
}

/// Rounded towards zero.
RUNG_UNTRACED inline float truncated(double x) {
  const auto nearest = static_cast<float>(x);
  return std::fabs(static_cast<double>(nearest)) > std::fabs(x) ? std::nextafterf(nearest, 0.0f) : nearest;
}

template <Type kType>
RUNG_UNTRACED inline void multiply_fragments(float (&sum)[4], const unsigned (&a)[4], const unsigned (&b)[2],
                                             Where where) {
  unsigned as[4][32], bs[2][32];
  exchange_words(a[0], a[1], as[0], as[1], where);
  exchange_words(a[2], a[3], as[2], as[3], where);
  exchange_words(b[0], b[1], bs[0], bs[1], where);
  const unsigned lane = lane_of_thread();
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned row = lane / 4, below = i / 2, col = lane % 4 * 2 + i % 2;
    double exact = sum[i];
    for (unsigned k = 0; k < 16; ++k) {
      const unsigned half = k / 8, holder = k % 8 / 2, shift = k % 2 * 16;
      const unsigned left = as[2 * half + below][4 * row + holder] >> shift & 0xffffu;
      const unsigned right = bs[half][4 * col + holder] >> shift & 0xffffu;
      exact += static_cast<double>(widened<kType>(left)) * static_cast<double>(widened<kType>(right));
    }
    sum[i] = truncated(exact);
  }
  constexpr int kFmasOfALane = 16 * 8 * 16 / 32;
  tally_tensor(kFmasOfALane);
}

template <Type kType>
RUNG_INLINE void mma(reg<float> (&sum)[4], const unsigned (&a)[4], const unsigned (&b)[2],
                     Where where = Where::current()) {
  float own[4];
  for (int i = 0; i < 4; ++i) own[i] = scalar(sum[i]);
  multiply_fragments<kType>(own, a, b, where);
  for (int i = 0; i < 4; ++i) sum[i] = own[i];
}

}  // namespace RUNG_EMULATION

#endif

}  // namespace rung
