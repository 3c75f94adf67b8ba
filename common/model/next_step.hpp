/// What to change in a block so that more of an SM's warps are resident: the next step up of the occupancy staircases.
#pragma once

#include <vector>

#include "common/model/occupancy.hpp"

namespace rung {

struct NextStep {
  BlockNeeds block;
  Occupancy occupancy;
};

/// The least changes that bring more resident warps, one of each kind: fewer registers per thread, less shared memory,
/// both where neither alone helps, and the nearest smaller and larger block size (in whole warps, with the same
/// registers per thread and shared memory per block). A kind without effect is left out. Throws as occupancy() does.
std::vector<NextStep> next_steps(const SmLimits& sm, const BlockNeeds& block);

/// The most of one resource that a block may take, at the needs given for the others, with `blocks` of it resident on
/// an SM; -1 if that many are not resident even with the least of it.
std::int64_t most_registers(const SmLimits& sm, BlockNeeds block, int blocks);
std::int64_t most_shared_bytes(const SmLimits& sm, BlockNeeds block, int blocks);

}  // namespace rung
