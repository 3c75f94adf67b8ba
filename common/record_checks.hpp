/// Checks of a kernel's record before anything else reads it. A kernel whose record cannot be true is refused, by its
/// name and with the reason, and all others work: kernels() and the functions that find kernels by name leave it out.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/registry.hpp"

namespace rung {

struct RefusedKernel {
  std::string name, reason;
};

/// Why the record cannot be used; empty if it can.
using RecordCheck = std::string (*)(const Kernel&);

/// Adds a check; called by the file that reads what records name, such as sources. Returns true, as add_kernel() does.
bool add_record_check(RecordCheck check);

/// By name.
const std::vector<RefusedKernel>& refused_kernels();
/// Those whose name matches a glob.
std::vector<const RefusedKernel*> match_refused(std::string_view pattern);

/// As match_kernels(), but none where all that match are refused.
std::vector<const Kernel*> match_accepted(std::string_view pattern);

}  // namespace rung
