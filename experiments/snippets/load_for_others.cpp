// Section 5.5, width 3: a thread of block 1,1 without an element of P loads one of M, or of N, that others use.
#include "tiled_product.hpp"

constexpr Thread left{1, 1, 1, 0}, upper{1, 1, 0, 1};
static_assert(!left.has_p(3) && left.has_n(3, 0) && !upper.has_p(3) && upper.has_m(3, 0));
