/// The data types of operands as NVIDIA's libraries name them.
#pragma once

#include <library_types.h>

#include "common/registry.hpp"

namespace rung {

/// Throws Error for a type that no product of ours has a library for.
cudaDataType cuda_type(Type type);

}  // namespace rung
