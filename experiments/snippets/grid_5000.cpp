// The declaration of the lecture; a size that is not given is 1.
#include <vector_types.h>

constexpr dim3 grid_dim(100, 50);  // 5000 thread blocks
static_assert(grid_dim.x * grid_dim.y * grid_dim.z == 5000);
