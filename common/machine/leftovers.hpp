/// What a kernel can leave open or running in the process for the kernels after it.
#pragma once

#include <set>
#include <string>

namespace rung {

/// Descriptors that are open, and processes that this one has begun.
class Leftovers {
 public:
  static Leftovers now();
  /// What there is by now that was not before, beyond the few descriptors that a library keeps: closed and ended. Says
  /// what; empty if nothing.
  std::string clear() const;

 private:
  std::set<int> descriptors_, processes_;
  bool are_listed_ = false;  ///< the descriptors
};

}  // namespace rung
