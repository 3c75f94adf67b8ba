// Section 5.4: each thread of a block loads a different element of M in a phase, and a different element of N.
#include "tiled_product.hpp"

constexpr int Width = 8;

constexpr bool all_differ(int by, int bx, int ph) {
  int m[Width * Width] = {}, n[Width * Width] = {};
  for (int ty = 0; ty < TILE_WIDTH; ++ty)
    for (int tx = 0; tx < TILE_WIDTH; ++tx) {
      const Thread thread{by, bx, ty, tx};
      if (++m[thread.m(Width, ph)] > 1 || ++n[thread.n(Width, ph)] > 1) return false;
    }
  return true;
}

constexpr bool in_all_blocks_and_phases() {
  for (int by = 0; by < Width / TILE_WIDTH; ++by)
    for (int bx = 0; bx < Width / TILE_WIDTH; ++bx)
      for (int ph = 0; ph < Width / TILE_WIDTH; ++ph)
        if (!all_differ(by, bx, ph)) return false;
  return true;
}
static_assert(in_all_blocks_and_phases());
