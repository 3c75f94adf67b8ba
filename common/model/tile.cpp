#include "common/model/tile.hpp"

#include "common/registry.hpp"

namespace rung {
namespace {

constexpr int kWidest = 4096;

}  // namespace

SharedTile make_tile(int width, int element_bytes, int side) {
  if (width < 1 || width > kWidest)
    throw Error("a tile " + std::to_string(width) + " wide makes no sense: give 1 to " + std::to_string(kWidest));
  if (side < 0 || (side > 0 && width % side != 0))
    throw Error("a tile " + std::to_string(width) + " wide cannot be shared out among " + std::to_string(side) +
                " threads along a side: give a divisor of the width");
  return {.width = width, .side = side == 0 ? width : side, .element_bytes = element_bytes};
}

Occupancy tile_occupancy(const SmLimits& sm, const SharedTile& tile, int registers_per_thread) {
  return occupancy(
      sm,
      {.threads = tile.threads(), .registers_per_thread = registers_per_thread, .shared_bytes = tile.shared_bytes()});
}

int tile_side(int width, int most_side) {
  if (most_side <= 0 || width <= most_side) return width;
  int side = most_side;
  while (width % side != 0) --side;
  return side;
}

int widest_tile(const SmLimits& sm, int element_bytes, int registers_per_thread, int most_side) {
  // A wider tile may have fewer threads, where its width has no large divisor, and so run again: all are tried.
  int widest = 0;
  for (int width = 1; SharedTile{width, 1, element_bytes}.shared_bytes() <= sm.shared_per_block_optin; ++width)
    if (tile_occupancy(sm, make_tile(width, element_bytes, tile_side(width, most_side)), registers_per_thread).runs())
      widest = width;
  return widest;
}

}  // namespace rung
