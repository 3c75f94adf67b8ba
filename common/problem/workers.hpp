/// Problems whose size is a number of workers that all do the same amount of work: a grid of blocks of equal size.
/// One multiprocessor of a GPU, or one thread of a CPU (whose lanes are the block's threads), works on a block.
///
/// Sizes     blocks: in all; or, relative to the machine, units x per_unit + extra, one at least. units: the
///           multiprocessors of a GPU, threads of a CPU, which a kernel's record gives; per_unit: 1 if not given;
///           extra: 0 if not given, below zero for fewer. block: threads of each.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/registry.hpp"

namespace rung {

/// The names of these sizes, followed by a problem's other ones.
std::vector<std::string> worker_sizes(std::vector<std::string> others);

/// "blocks" and "block" of what is given; throws Error for what is no grid.
Params complete_workers(const Params& given);

inline std::int64_t workers(const Params& p) { return p.at("blocks") * p.at("block"); }

}  // namespace rung
