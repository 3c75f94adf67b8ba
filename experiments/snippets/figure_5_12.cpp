// Figure 5.12, width 3: phase 0 of block 1,1. Threads 1,0 and 1,1 have no element of M, in row 3; threads 0,1 and 1,1
// none of N, in column 3. And in each of the phases some thread of some block has an element of M or N that does not
// exist.
#include "tiled_product.hpp"

static_assert(attempts(1, 1, 0, 3, {0, 0, {2, 0}, {0, 2}}, true, true));
static_assert(attempts(1, 1, 0, 3, {0, 1, {2, 1}, {0, 3}}, true, false));
static_assert(attempts(1, 1, 0, 3, {1, 0, {3, 0}, {1, 2}}, false, true));
static_assert(attempts(1, 1, 0, 3, {1, 1, {3, 1}, {1, 3}}, false, false));

constexpr bool is_problematic(int ph) {
  for (int block = 0; block < 4; ++block)
    for (int thread = 0; thread < 4; ++thread) {
      const Thread one{block / 2, block % 2, thread / 2, thread % 2};
      if (!one.has_m(3, ph) || !one.has_n(3, ph)) return true;
    }
  return false;
}
static_assert(is_problematic(0) && is_problematic(1));
