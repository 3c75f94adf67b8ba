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
  /// What there is by now that was not before, beyond the few descriptors that a library keeps: closed and ended. Says
  /// what; empty if nothing. A lowered limit of open files is raised again; one that is lowered permanently hides what
  /// is open, and is the study's to see, which goes on in another process.
  std::string clear() const;

 private:
  std::set<int> descriptors_, processes_;
  bool are_listed_ = false;  ///< the descriptors
  std::uint64_t most_open_ = 0;
};

}  // namespace rung
