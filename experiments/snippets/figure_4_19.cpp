// 3rd edition, figure 4.19, width 3: in phase 0 of block 1,0 threads 0,1 and 1,1 have no element of N, and threads 1,0
// and 1,1 none of M.
#include "tiled_product.hpp"

#ifdef MENDED
constexpr int by = 1, bx = 1;
#else
constexpr int by = 1, bx = 0;
#endif
static_assert(!Thread{by, bx, 0, 1}.has_n(3, 0) && !Thread{by, bx, 1, 1}.has_n(3, 0));
static_assert(!Thread{by, bx, 1, 0}.has_m(3, 0) && !Thread{by, bx, 1, 1}.has_m(3, 0));
