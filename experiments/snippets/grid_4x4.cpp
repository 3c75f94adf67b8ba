// The sizes of the lecture's launch with two-dimensional indices.
#include <vector_types.h>

constexpr dim3 grid_for(int dimx, int dimy) {
  dim3 grid, block;
  block.x = 4;
  block.y = 4;
  grid.x = dimx / block.x;
  grid.y = dimy / block.y;
  return grid;
}
static_assert(grid_for(16, 16).x == 4 && grid_for(16, 16).y == 4 && grid_for(16, 16).z == 1);
