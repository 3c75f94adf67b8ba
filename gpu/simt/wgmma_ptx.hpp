/// wgmma: a warpgroup multiplies tiles in shared memory. For files compiled for sm_90a; the emulator has its own
/// versions (wgmma_emulated.hpp). Source: NVIDIA PTX ISA, asynchronous warpgroup-level matrix instructions.
#pragma once

#include <cstdint>
#include <type_traits>

#include "gpu/simt/simt.hpp"

namespace rung::hopper {

/// wgmma's description of a tile that TMA wrote with its swizzle of 128 bytes: rows of 128 bytes, eight of which form a
/// pattern of 1024 bytes. `pattern_stride`: bytes from one pattern to the next along the rows; `block_stride`: bytes
/// from one block of 128 bytes of a row to the next, where the tile's rows are longer.
__device__ __forceinline__ std::uint64_t tile_descriptor(std::uint32_t address, std::uint32_t pattern_stride,
                                                         std::uint32_t block_stride) {
  constexpr std::uint64_t kSwizzle128 = std::uint64_t{1} << 62;
  const auto field = [](std::uint32_t bytes) { return static_cast<std::uint64_t>((bytes & 0x3ffff) >> 4); };
  return kSwizzle128 | field(pattern_stride) << 32 | field(block_stride) << 16 | field(address);
}

/// The same for a tile without a swizzle, made of blocks of 8 rows of 16 bytes, 128 contiguous bytes each.
/// `down`: bytes from one block to the next 8 rows, `along`: to the next 16 bytes of the same rows.
__device__ __forceinline__ std::uint64_t block_descriptor(std::uint32_t address, std::uint32_t down,
                                                          std::uint32_t along) {
  const auto field = [](std::uint32_t bytes) { return static_cast<std::uint64_t>((bytes & 0x3ffff) >> 4); };
  return field(down) << 32 | field(along) << 16 | field(address);
}

/// A number of a type as it is stored, and the type of sums of products.
template <Type kType>
using StoredAs =
    std::conditional_t<kType == Type::tf32, float,
                       std::conditional_t<kType == Type::int8, std::int8_t,
                                          std::conditional_t<kType == Type::fp8, std::uint8_t, std::uint16_t>>>;
template <Type kType>
using Sum = std::conditional_t<kType == Type::int8, int, float>;

}  // namespace rung::hopper

#ifndef __CUDACC__
#include "gpu/simt/wgmma_emulated.hpp"
#else

namespace rung::hopper {

/// Before the first wgmma, and whenever registers of sums were written by other instructions.
__device__ __forceinline__ void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
/// Waits until at most `kLeft` of the committed groups are not finished.
template <int kLeft>
__device__ __forceinline__ void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kLeft) : "memory");
}

// The operands of the instruction: lists of 32 registers, and arrays of 32 sums.
#define RUNG_REGISTERS_0                                                   \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define RUNG_REGISTERS_32                                                            \
  "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
  "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define RUNG_REGISTERS_64                                                            \
  "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, " \
  "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define RUNG_REGISTERS_96                                                                        \
  "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, " \
  "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
#define RUNG_SUMS_4(c, i) c(sum[i]), c(sum[i + 1]), c(sum[i + 2]), c(sum[i + 3])
#define RUNG_SUMS_16(c, i) RUNG_SUMS_4(c, i), RUNG_SUMS_4(c, i + 4), RUNG_SUMS_4(c, i + 8), RUNG_SUMS_4(c, i + 12)
#define RUNG_SUMS_32(c, i) RUNG_SUMS_16(c, i), RUNG_SUMS_16(c, i + 16)
/// `a`, `b`, `adds`, `a_order`, `b_order`: the numbers of the operands after the sums. `kind`: the depth and the types.
/// `end`: the rest, factors of 1 for A and B and, for 16 bits, the orders of A and of B. `c`: "+f", or "+r" for int32
/// sums.
#define RUNG_WGMMA(cols, kind, registers, a, b, adds_at, end, ...)                                            \
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" adds_at                                                   \
               ", 0;\n"                                                                                       \
               "wgmma.mma_async.sync.aligned.m64n" cols kind " {" registers "}, %" a ", %" b ", p" end ";\n}" \
               : __VA_ARGS__                                                                                  \
               : "l"(a_tile), "l"(b_tile), "r"(adds), "n"(kAByRowsOfM ? 1 : 0), "n"(kBByRowsOfN ? 1 : 0))
#define RUNG_WGMMA_64(kind, end, c) \
  RUNG_WGMMA("64", kind, RUNG_REGISTERS_0, "32", "33", "34", end("35", "36"), RUNG_SUMS_32(c, 0))
#define RUNG_WGMMA_128(kind, end, c)                                                                  \
  RUNG_WGMMA("128", kind, RUNG_REGISTERS_0 ", " RUNG_REGISTERS_32, "64", "65", "66", end("67", "68"), \
             RUNG_SUMS_32(c, 0), RUNG_SUMS_32(c, 32))
#define RUNG_WGMMA_192(kind, end, c)                                                                        \
  RUNG_WGMMA("192", kind, RUNG_REGISTERS_0 ", " RUNG_REGISTERS_32 ", " RUNG_REGISTERS_64, "96", "97", "98", \
             end("99", "100"), RUNG_SUMS_32(c, 0), RUNG_SUMS_32(c, 32), RUNG_SUMS_32(c, 64))
#define RUNG_WGMMA_256(kind, end, c)                                                                               \
  RUNG_WGMMA("256", kind, RUNG_REGISTERS_0 ", " RUNG_REGISTERS_32 ", " RUNG_REGISTERS_64 ", " RUNG_REGISTERS_96,   \
             "128", "129", "130", end("131", "132"), RUNG_SUMS_32(c, 0), RUNG_SUMS_32(c, 32), RUNG_SUMS_32(c, 64), \
             RUNG_SUMS_32(c, 96))
#define RUNG_WGMMA_ANY(kind, end, c)                        \
  if constexpr (kCols == 64) RUNG_WGMMA_64(kind, end, c);   \
  if constexpr (kCols == 128) RUNG_WGMMA_128(kind, end, c); \
  if constexpr (kCols == 192) RUNG_WGMMA_192(kind, end, c); \
  if constexpr (kCols == 256) RUNG_WGMMA_256(kind, end, c)
#define RUNG_END_16(a_order, b_order) ", 1, 1, %" a_order ", %" b_order
#define RUNG_END_FLOAT(a_order, b_order) ", 1, 1"
#define RUNG_END_INT(a_order, b_order) ""

/// sum (64 x kCols) = A (64 x k) B (k x kCols), + sum if `adds`, where k numbers are 32 bytes. A is stored by rows of
/// k, or of m if kAByRowsOfM; B by rows of k, or of n if kBByRowsOfN. Only types of 16 bits have this choice. A thread
/// holds kCols / 2 sums.
template <Type kType, int kCols, bool kBByRowsOfN = true, bool kAByRowsOfM = false>
__device__ __forceinline__ void wgmma_64(Sum<kType> (&sum)[kCols / 2], std::uint64_t a_tile, std::uint64_t b_tile,
                                         int adds) {
  constexpr bool kHas16Bits = kType == Type::bf16 || kType == Type::fp16;
  static_assert(kHas16Bits || !(kBByRowsOfN || kAByRowsOfM));
  static_assert(kHas16Bits || kType == Type::tf32 || kType == Type::fp8 || kType == Type::int8);
  static_assert(kCols == 64 || kCols == 128 || kCols == 192 || kCols == 256);
  if constexpr (kType == Type::bf16) {
    RUNG_WGMMA_ANY("k16.f32.bf16.bf16", RUNG_END_16, "+f");
  } else if constexpr (kType == Type::fp16) {
    RUNG_WGMMA_ANY("k16.f32.f16.f16", RUNG_END_16, "+f");
  } else if constexpr (kType == Type::tf32) {
    RUNG_WGMMA_ANY("k8.f32.tf32.tf32", RUNG_END_FLOAT, "+f");
  } else if constexpr (kType == Type::fp8) {
    RUNG_WGMMA_ANY("k32.f32.e4m3.e4m3", RUNG_END_FLOAT, "+f");
  } else {
    RUNG_WGMMA_ANY("k32.s32.s8.s8", RUNG_END_INT, "+r");
  }
}
#undef RUNG_WGMMA_64
#undef RUNG_WGMMA_128
#undef RUNG_WGMMA_192
#undef RUNG_WGMMA_256
#undef RUNG_WGMMA_ANY
#undef RUNG_WGMMA
#undef RUNG_END_16
#undef RUNG_END_FLOAT
#undef RUNG_END_INT
#undef RUNG_SUMS_32
#undef RUNG_SUMS_16
#undef RUNG_SUMS_4
#undef RUNG_REGISTERS_0
#undef RUNG_REGISTERS_32
#undef RUNG_REGISTERS_64
#undef RUNG_REGISTERS_96

template <Type kType, bool kBByRowsOfN = true>
__device__ __forceinline__ void wgmma_64x256(Sum<kType> (&sum)[128], std::uint64_t a, std::uint64_t b, int adds) {
  wgmma_64<kType, 256, kBByRowsOfN>(sum, a, b, adds);
}

/// Keeps the compiler from reading sums before a wait for them, or writing them after: to the compiler, the
/// instructions in between no longer use the registers.
template <typename T, int kCount>
__device__ __forceinline__ void keep_in_order(T (&sum)[kCount]) {
#pragma unroll
  for (T& one : sum) {
    if constexpr (std::is_same_v<T, float>)
      asm volatile("" : "+f"(one)::"memory");
    else
      asm volatile("" : "+r"(one)::"memory");
  }
}

}  // namespace rung::hopper

#endif
