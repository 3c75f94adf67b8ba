/// The machine's two sides, each opened when a point first needs it.
#pragma once

#include <memory>
#include <string>

#include "common/harness/journal.hpp"
#include "common/machine/target.hpp"

namespace rung {

class Machine {
 public:
  /// `device`: the number of the GPU.
  explicit Machine(int device) : device_(device) {}

  Target& host();
  /// Null where there is no GPU; gpu_unavailable() has the reason.
  Target* gpu();
  const std::string& gpu_unavailable() const { return gpu_.unavailable; }
  Target* target_of(const Kernel& kernel) { return kernel.side() == "cpu" ? &host() : gpu(); }

  /// The context keys of both sides; the GPU's also if no point used it, so that a result always lists the hardware.
  Json context();

 private:
  int device_;
  std::unique_ptr<Target> host_;
  GpuTarget gpu_;
  bool gpu_opened_ = false;
};

}  // namespace rung
