// The grid of the course for 100 x 100 cells, and the elements of its block (3,3).
constexpr int cells = 100, last = 3;
constexpr dim3 block(32, 32, 1), grid((cells + 31) / 32, (cells + 31) / 32, 1);
static_assert(grid.x == 4 && grid.y == 4 && last == grid.x - 1);
static_assert(0 + last * block.x == 96 && block.x - 1 + last * block.x == 127);
