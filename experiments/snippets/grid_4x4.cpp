// The sizes of the lecture's launch with two-dimensional indices.
#include <vector_types.h>

struct Launch {
  dim3 grid, block;
};

constexpr Launch launch_for(int dimx, int dimy) {
  dim3 grid, block;
  block.x = 4;
  block.y = 4;
  grid.x = dimx / block.x;
  grid.y = dimy / block.y;
  return {grid, block};
}
constexpr Launch launch = launch_for(16, 16);
static_assert(launch.grid.x == 4 && launch.grid.y == 4 && launch.grid.z == 1);
static_assert(launch.block.x == 4 && launch.block.y == 4 && launch.block.z == 1);
