// Section 5.5, width 3: what threads 1,0 and 1,1 of block 0,0 load of N in phase 1 is outside of the nine elements.
#include "tiled_product.hpp"

static_assert(Thread{0, 0, 1, 0}.n(3, 1) >= 9 && Thread{0, 0, 1, 1}.n(3, 1) >= 9);
