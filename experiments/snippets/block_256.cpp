// The declaration of the lecture.
#include <vector_types.h>

constexpr dim3 block_dim(4, 8, 8);  // 256 threads per block
static_assert(block_dim.x * block_dim.y * block_dim.z == 256);
