// Figure 5.8: the loads of the four threads of block 0,0 in both phases, and the products that they add.
#include "tile_loads.hpp"

constexpr Loads table[] = {
    {0, 0, 0, {0, 0}, {0, 0}, {0, 0}, {0, 0}}, {0, 0, 1, {0, 2}, {0, 0}, {2, 0}, {0, 0}},
    {0, 1, 0, {0, 1}, {0, 1}, {0, 1}, {0, 1}}, {0, 1, 1, {0, 3}, {0, 1}, {2, 1}, {0, 1}},
    {1, 0, 0, {1, 0}, {1, 0}, {1, 0}, {1, 0}}, {1, 0, 1, {1, 2}, {1, 0}, {3, 0}, {1, 0}},
    {1, 1, 0, {1, 1}, {1, 1}, {1, 1}, {1, 1}}, {1, 1, 1, {1, 3}, {1, 1}, {3, 1}, {1, 1}},
};

constexpr bool all() {
  for (const Loads& row : table)
    if (!is_so(row)) return false;
  return true;
}
static_assert(all());

// The k-th product of a phase is of the elements of M and N that the dot product has at 2 * phase + k.
constexpr bool products() {
  for (const Loads& row : table)
    for (int k = 0; k < TILE_WIDTH; ++k) {
      const Place m = element(Thread{0, 0, row.ty, k}.m(4, row.phase), 4), n = element(Thread{0, 0, k, row.tx}.n(4, row.phase), 4);
      if (m != Place{row.ty, 2 * row.phase + k} || n != Place{2 * row.phase + k, row.tx}) return false;
    }
  return true;
}
static_assert(products());
