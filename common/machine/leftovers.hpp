/// What a kernel can leave open or running in the process for the kernels after it.
#pragma once

#include <cstdint>
#include <set>
#include <string>

namespace rung {

/// Descriptors that are open, and processes that this one has begun.
class Leftovers {
 public:
  /// Processes whose parent ends are this process's from then on, so that they are found too.
  static Leftovers now();
  /// Closes and ends what has been opened or started since then, beyond the few descriptors that a library keeps.
  /// Returns what it was; empty if nothing. A lowered limit of open files is raised again. A permanently lowered one
  /// hides open files: the study detects it, and continues in another process.
  std::string clear() const;

 private:
  std::set<int> descriptors_, processes_;
  bool are_listed_ = false;  ///< the descriptors
  std::uint64_t most_open_ = 0;
};

}  // namespace rung
