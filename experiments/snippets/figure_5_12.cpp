// Figure 5.12, width 3: phase 0 of block 1,1. Threads 1,0 and 1,1 have no element of M, in row 3; threads 0,1 and 1,1
// none of N, in column 3.
#include "tiled_product.hpp"

static_assert(Thread{1, 1, 0, 0}.has_m(3, 0) && Thread{1, 1, 0, 1}.has_m(3, 0));
static_assert(!Thread{1, 1, 1, 0}.has_m(3, 0) && !Thread{1, 1, 1, 1}.has_m(3, 0) && Thread{1, 1, 1, 0}.Row() == 3);
static_assert(Thread{1, 1, 0, 0}.has_n(3, 0) && Thread{1, 1, 1, 0}.has_n(3, 0));
static_assert(!Thread{1, 1, 0, 1}.has_n(3, 0) && !Thread{1, 1, 1, 1}.has_n(3, 0) && Thread{1, 1, 0, 1}.Col() == 3);
