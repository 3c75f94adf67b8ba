/// Shared by the kernels that sort columns; the problem is described in sort_columns.cpp.
#pragma once

#include "common/registry.hpp"

namespace rung {

/// Rows of the matrix: what a thread sorts.
using ColumnKeys = Choices<8, 16, 32>;

}  // namespace rung
