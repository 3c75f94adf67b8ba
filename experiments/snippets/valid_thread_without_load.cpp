// Section 5.5, width 3: thread 0,1 of block 0,0 computes P(0,1), and has no element of M in phase 1.
#include "tiled_product.hpp"

constexpr Thread thread{0, 0, 0, 1};
static_assert(thread.has_p(3) && thread.Row() == 0 && thread.Col() == 1 && thread.of_m(1) == Place{0, 3} &&
              !thread.has_m(3, 1));
