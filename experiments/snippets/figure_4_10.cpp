// 3rd edition, figure 4.10: the loads of block 0,0 of the simple product of width 4, with blocks of 2 x 2.
#include "tiled_product.hpp"

struct Reads {
  int all = 0, m[16] = {}, n[16] = {};
};

constexpr Reads of_block() {
  Reads reads;
  for (int ty = 0; ty < 2; ++ty)
    for (int tx = 0; tx < 2; ++tx)
      for (int k = 0; k < 4; ++k) {
        const Thread thread{0, 0, ty, tx};
        ++reads.m[thread.Row() * 4 + k];
        ++reads.n[k * 4 + thread.Col()];
        reads.all += 2;
      }
  return reads;
}

constexpr bool each_is_read_twice_or_not() {
  const Reads reads = of_block();
  for (int i = 0; i < 16; ++i)
    if ((reads.m[i] != 0 && reads.m[i] != 2) || (reads.n[i] != 0 && reads.n[i] != 2)) return false;
  return true;
}
static_assert(of_block().all == 32 && each_is_read_twice_or_not());
