// Figure 5.11, width 3: phase 1 of block 0,0. Threads 0,1 and 1,1 have no element of M, in column 3; threads 1,0 and
// 1,1 none of N, in row 3.
#include "tiled_product.hpp"

static_assert(attempts(0, 0, 1, 3, {0, 0, {0, 2}, {2, 0}}, true, true));
static_assert(attempts(0, 0, 1, 3, {0, 1, {0, 3}, {2, 1}}, false, true));
static_assert(attempts(0, 0, 1, 3, {1, 0, {1, 2}, {3, 0}}, true, false));
static_assert(attempts(0, 0, 1, 3, {1, 1, {1, 3}, {3, 1}}, false, false));
