/// The parts of a kernel's record that the harness checks, and whether the problems' records are unchanged.
#pragma once

#include <string>

#include "common/problem/problem.hpp"

namespace rung {

/// How an audit changes inputs of the problem. Null if neither it nor its family has a way.
const Redraw* redraw_of(const Problem& problem);

/// Why the error_bound of a kernel's record is wider than its problem allows; empty if it is not.
std::string bound_refusal(const Kernel& kernel, const Problem& problem);

/// Remembers the records of all problems as they are now, before any kernel has run. The first call counts.
void remember_problems();
/// Whether the record of a problem is the one that was remembered, or none was.
bool is_as_remembered(const Problem& problem);

}  // namespace rung
