// 3rd edition, figure 4.15, phase 1 of thread 0,1: N(0,1) is stored in Nds(1,0).
#include "tile_loads.hpp"

#ifdef MENDED
static_assert(is_so({0, 1, 0, {0, 1}, {0, 1}, {0, 1}, {0, 1}}));
#else
static_assert(is_so({0, 1, 0, {0, 1}, {0, 1}, {0, 1}, {1, 0}}));
#endif
