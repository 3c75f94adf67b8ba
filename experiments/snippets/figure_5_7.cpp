// Section 5.4: what thread 0,1 of block 1,0 computes of the product of width 4.
#include "tiled_product.hpp"

constexpr Thread thread{1, 0, 0, 1};
static_assert(thread.Col() == 1 && thread.Row() == 2);
