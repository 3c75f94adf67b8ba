#pragma once
#include "kernel.cuh"
namespace sgemm {
#define SHAPE(name, tm, tn, lm, ln, wm, wn, bk, st, a, prod, ord, ...) \
  using name = Config<tm, tn, lm, ln, wm, wn, bk, st, ALayout::a, Producer::prod, Order::ord, __VA_ARGS__>;
// clang-format off
//    name         TM TN LM LN WM WN BK stages            ...              unroll, gap, blocks an SM, mixed, slices
SHAPE(S32U8X,       8, 16, 8, 4, 2, 4, 32, 4, kTransposed, kWarpgroup, kRowSnake, 8, 16, 1, true)
SHAPE(S32U8XV,      8, 16, 8, 4, 4, 2, 32, 4, kTransposed, kWarpgroup, kRowSnake, 8, 16, 1, true)
SHAPE(S32U8XVG24,   8, 16, 8, 4, 4, 2, 32, 4, kTransposed, kWarpgroup, kRowSnake, 8, 24, 1, true)
SHAPE(S32U16X,      8, 16, 8, 4, 4, 2, 32, 4, kTransposed, kWarpgroup, kRowSnake, 16, 16, 1, true)
SHAPE(R32U8G16,     8, 16, 8, 4, 2, 4, 32, 4, kRows, kWarpgroup, kRowSnake, 8, 16)
SHAPE(R32U8XG16,    8, 16, 8, 4, 2, 4, 32, 4, kRows, kWarpgroup, kRowSnake, 8, 16, 1, true)
SHAPE(R32U8VG16,    8, 16, 8, 4, 4, 2, 32, 4, kRows, kWarpgroup, kRowSnake, 8, 16)
SHAPE(K32x32s4,     4,  8, 8, 4, 1, 1, 32, 6, kRows, kWarp, kRowSnake, 8, 8, 1, false, 4)
SHAPE(K64x32s8,     4,  8, 8, 4, 2, 1, 32, 6, kRows, kWarpgroup, kRowSnake, 4, 8, 1, false, 8)
SHAPE(K64x64s4,     4,  8, 8, 4, 2, 2, 32, 6, kRows, kWarpgroup, kRowSnake, 8, 8, 1, false, 4)
SHAPE(K64x128s4,    8, 16, 8, 4, 1, 2, 32, 5, kRows, kWarpgroup, kRowSnake, 8, 8, 1, false, 4)
SHAPE(K64x128G16,   8, 16, 8, 4, 1, 2, 32, 5, kRows, kWarpgroup, kRowSnake, 8, 16, 1, false, 4)
SHAPE(K64x128G24,   8, 16, 8, 4, 1, 2, 32, 5, kRows, kWarpgroup, kRowSnake, 8, 24, 1, false, 4)
SHAPE(K64x128G24X,  8, 16, 8, 4, 1, 2, 32, 5, kRows, kWarpgroup, kRowSnake, 8, 24, 1, true, 4)
SHAPE(K128x128G24,  8, 16, 8, 4, 2, 2, 32, 4, kRows, kWarpgroup, kRowSnake, 16, 24, 1, false, 2)
SHAPE(T64x128,      8, 16, 8, 4, 1, 2, 32, 5, kTransposed, kWarpgroup, kRowSnake, 8, 16, 1, true, 4)
// clang-format on
}  // namespace sgemm
#define BIG(X) X(S32U8X) X(S32U8XV) X(S32U8XVG24) X(S32U16X) X(R32U8G16) X(R32U8XG16) X(R32U8VG16)
#define SMALL(X) X(K32x32s4) X(K64x32s8) X(K64x64s4) X(K64x128s4) X(K64x128G16) X(K64x128G24) X(K64x128G24X) X(K128x128G24) X(T64x128)
#ifndef VARIANTS
#define VARIANTS(X) BIG(X) SMALL(X)
#endif
