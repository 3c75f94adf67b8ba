// The threads of the launch in the course.
constexpr dim3 dimBlock(32, 32, 1), dimGrid(256, 128, 1);
static_assert(dimBlock.x * dimBlock.y * dimBlock.z * dimGrid.x * dimGrid.y * dimGrid.z == 33554432);
