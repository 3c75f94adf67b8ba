/// Cooperative groups. Not part of simt.hpp, since nvcc needs longer for the real header than for everything else.
#pragma once

#include "gpu/simt/simt.hpp"

#ifdef __CUDACC__
#include <cooperative_groups.h>
#else
#include "gpu/simt/emulated_groups.hpp"
#endif
