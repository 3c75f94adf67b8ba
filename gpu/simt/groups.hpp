/// Cooperative groups for the kernels that use them: with nvcc the real header, which takes it longer to read than all
/// the rest, so simt.hpp leaves it out.
#pragma once

#include "gpu/simt/simt.hpp"

#ifdef __CUDACC__
#include <cooperative_groups.h>
#else
#include "gpu/simt/emulated_groups.hpp"
#endif
