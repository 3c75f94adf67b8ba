/// wgmma: a warpgroup multiplies tiles that lie in shared memory. Only for files compiled for sm_90a.
/// Source: NVIDIA PTX ISA, asynchronous warpgroup-level matrix instructions.
#pragma once

#include <cstdint>

#include "common/registry.hpp"

namespace rung::hopper {

/// What wgmma needs to know of a tile that TMA wrote with its swizzle of 128 bytes: rows of 128 bytes, eight of them a
/// pattern of 1024 bytes. `pattern_stride`: bytes from one pattern to the next along the rows; `block_stride`: from one
/// block of 128 bytes of a row to the next, where the tile's rows are longer.
__device__ __forceinline__ std::uint64_t tile_descriptor(std::uint32_t address, std::uint32_t pattern_stride,
                                                         std::uint32_t block_stride) {
  constexpr std::uint64_t kSwizzle128 = std::uint64_t{1} << 62;
  const auto field = [](std::uint32_t bytes) { return static_cast<std::uint64_t>((bytes & 0x3ffff) >> 4); };
  return kSwizzle128 | field(pattern_stride) << 32 | field(block_stride) << 16 | field(address);
}

/// The same of a tile without a swizzle, made of blocks of 8 rows of 16 bytes, 128 contiguous bytes each.
/// `down`: bytes from one block to the next 8 rows, `along`: to the next 16 bytes of the same rows.
__device__ __forceinline__ std::uint64_t block_descriptor(std::uint32_t address, std::uint32_t down,
                                                          std::uint32_t along) {
  const auto field = [](std::uint32_t bytes) { return static_cast<std::uint64_t>((bytes & 0x3ffff) >> 4); };
  return field(down) << 32 | field(along) << 16 | field(address);
}

/// Before the first wgmma, and whenever registers of sums were written by other instructions.
__device__ __forceinline__ void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
/// Waits until at most `kLeft` of the committed groups are not finished.
template <int kLeft>
__device__ __forceinline__ void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kLeft) : "memory");
}

/// sum (64 x 256) = A (64 x 16) B (16 x 256), + sum if `adds`. A is stored by rows of k, B by rows of n or,
/// if told so, of k.
template <Type kType, bool kBByRowsOfN = true>
__device__ __forceinline__ void wgmma_64x256(float (&sum)[128], std::uint64_t a, std::uint64_t b, int adds) {
#define RUNG_WGMMA(type)                                                                                              \
  asm volatile(                                                                                                       \
      "{\n.reg .pred p;\nsetp.ne.b32 p, %130, 0;\n"                                                                   \
      "wgmma.mma_async.sync.aligned.m64n256k16.f32." type "." type                                                    \
      " {"                                                                                                            \
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "                                        \
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "                              \
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "                              \
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "                              \
      "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "                              \
      "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "                              \
      "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "                  \
      "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"                \
      "}, %128, %129, p, 1, 1, 0, %131;\n}"                                                                           \
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3]), "+f"(sum[4]), "+f"(sum[5]), "+f"(sum[6]),             \
        "+f"(sum[7]), "+f"(sum[8]), "+f"(sum[9]), "+f"(sum[10]), "+f"(sum[11]), "+f"(sum[12]), "+f"(sum[13]),         \
        "+f"(sum[14]), "+f"(sum[15]), "+f"(sum[16]), "+f"(sum[17]), "+f"(sum[18]), "+f"(sum[19]), "+f"(sum[20]),      \
        "+f"(sum[21]), "+f"(sum[22]), "+f"(sum[23]), "+f"(sum[24]), "+f"(sum[25]), "+f"(sum[26]), "+f"(sum[27]),      \
        "+f"(sum[28]), "+f"(sum[29]), "+f"(sum[30]), "+f"(sum[31]), "+f"(sum[32]), "+f"(sum[33]), "+f"(sum[34]),      \
        "+f"(sum[35]), "+f"(sum[36]), "+f"(sum[37]), "+f"(sum[38]), "+f"(sum[39]), "+f"(sum[40]), "+f"(sum[41]),      \
        "+f"(sum[42]), "+f"(sum[43]), "+f"(sum[44]), "+f"(sum[45]), "+f"(sum[46]), "+f"(sum[47]), "+f"(sum[48]),      \
        "+f"(sum[49]), "+f"(sum[50]), "+f"(sum[51]), "+f"(sum[52]), "+f"(sum[53]), "+f"(sum[54]), "+f"(sum[55]),      \
        "+f"(sum[56]), "+f"(sum[57]), "+f"(sum[58]), "+f"(sum[59]), "+f"(sum[60]), "+f"(sum[61]), "+f"(sum[62]),      \
        "+f"(sum[63]), "+f"(sum[64]), "+f"(sum[65]), "+f"(sum[66]), "+f"(sum[67]), "+f"(sum[68]), "+f"(sum[69]),      \
        "+f"(sum[70]), "+f"(sum[71]), "+f"(sum[72]), "+f"(sum[73]), "+f"(sum[74]), "+f"(sum[75]), "+f"(sum[76]),      \
        "+f"(sum[77]), "+f"(sum[78]), "+f"(sum[79]), "+f"(sum[80]), "+f"(sum[81]), "+f"(sum[82]), "+f"(sum[83]),      \
        "+f"(sum[84]), "+f"(sum[85]), "+f"(sum[86]), "+f"(sum[87]), "+f"(sum[88]), "+f"(sum[89]), "+f"(sum[90]),      \
        "+f"(sum[91]), "+f"(sum[92]), "+f"(sum[93]), "+f"(sum[94]), "+f"(sum[95]), "+f"(sum[96]), "+f"(sum[97]),      \
        "+f"(sum[98]), "+f"(sum[99]), "+f"(sum[100]), "+f"(sum[101]), "+f"(sum[102]), "+f"(sum[103]), "+f"(sum[104]), \
        "+f"(sum[105]), "+f"(sum[106]), "+f"(sum[107]), "+f"(sum[108]), "+f"(sum[109]), "+f"(sum[110]),               \
        "+f"(sum[111]), "+f"(sum[112]), "+f"(sum[113]), "+f"(sum[114]), "+f"(sum[115]), "+f"(sum[116]),               \
        "+f"(sum[117]), "+f"(sum[118]), "+f"(sum[119]), "+f"(sum[120]), "+f"(sum[121]), "+f"(sum[122]),               \
        "+f"(sum[123]), "+f"(sum[124]), "+f"(sum[125]), "+f"(sum[126]), "+f"(sum[127])                                \
      : "l"(a), "l"(b), "r"(adds), "n"(kBByRowsOfN ? 1 : 0))
  static_assert(kType == Type::bf16 || kType == Type::fp16);
  if constexpr (kType == Type::bf16)
    RUNG_WGMMA("bf16");
  else
    RUNG_WGMMA("f16");
#undef RUNG_WGMMA
}

}  // namespace rung::hopper
