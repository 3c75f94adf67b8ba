/// A log of the launches that one run of a kernel's record makes, with the resources of each.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "common/machine/target.hpp"

namespace rung {

enum class LaunchKind;

/// While one exists, launches are recorded. One at a time.
class LaunchLog {
 public:
  LaunchLog();
  ~LaunchLog();
  LaunchLog(const LaunchLog&) = delete;
  LaunchLog& operator=(const LaunchLog&) = delete;

  /// Resources of the first launch of this shape: the kernel itself, since helpers are launched with other shapes.
  /// Nothing if there was no such launch, as in a library's call.
  std::optional<Resources> resources_of(const Launch& launch) const;

 private:
  friend void launch_on_device(const Call& call, const void* kernel, void** arguments, LaunchKind kind);
  std::vector<std::pair<Launch, Resources>> entries_;
};

}  // namespace rung
