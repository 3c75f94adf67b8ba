// Figure 5.11, width 3: phase 1 of block 0,0. Threads 0,1 and 1,1 have no element of M, threads 1,0 and 1,1 none of N.
#include "tiled_product.hpp"

static_assert(Thread{0, 0, 0, 0}.has_m(3, 1) && !Thread{0, 0, 0, 1}.has_m(3, 1));
static_assert(Thread{0, 0, 1, 0}.has_m(3, 1) && !Thread{0, 0, 1, 1}.has_m(3, 1));
static_assert(Thread{0, 0, 0, 0}.has_n(3, 1) && Thread{0, 0, 0, 1}.has_n(3, 1));
static_assert(!Thread{0, 0, 1, 0}.has_n(3, 1) && !Thread{0, 0, 1, 1}.has_n(3, 1));
