// A row of the table of phases, 4th edition, figure 5.8: what a thread of block 0,0 loads in a phase, and to where.
#include "tiled_product.hpp"

struct Loads {
  int ty, tx, phase;
  Place m, to_mds, n, to_nds;
};

constexpr bool is_so(const Loads& row) {
  const Thread thread{0, 0, row.ty, row.tx};
  const Place own{thread.ty, thread.tx};
  return element(thread.m(4, row.phase), 4) == row.m && row.to_mds == own && element(thread.n(4, row.phase), 4) == row.n &&
         row.to_nds == own;
}
