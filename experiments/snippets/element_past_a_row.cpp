// Section 5.5, width 3: thread 0,1 of block 0,0 attempts to load M(0,3) in phase 1, and gets M(1,0).
#include "tiled_product.hpp"

static_assert(element(Thread{0, 0, 0, 1}.m(3, 1), 3) == Place{1, 0});
