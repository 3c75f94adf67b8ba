// Section 5.5, width 3: thread 1,0 of block 1,1 loads M(2,1) in phase 0.
#include "tiled_product.hpp"

#ifdef MENDED
constexpr Thread thread{1, 1, 0, 1};
#else
constexpr Thread thread{1, 1, 1, 0};
#endif
static_assert(!thread.has_p(3) && thread.has_m(3, 0) && element(thread.m(3, 0), 3) == Place{2, 1});
