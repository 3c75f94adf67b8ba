/// Runs a planted fault in the emulator.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "common/emulator/device_memory.hpp"
#include "common/emulator/emulator.hpp"
#include "common/machine/target.hpp"
#include "tests/emulator/faulty/faulty.hpp"

namespace rung {

/// The entry's buffers in the emulated device's memory, and the call on them.
class FaultyCall {
 public:
  explicit FaultyCall(const Faulty& faulty) : target_(open_emulator()) {
    call_.launch = faulty.launch;
    for (const FaultyBuffer& buffer : faulty.buffers) {
      void* memory = target_->allocate(buffer.bytes);
      call_.operands.push_back(memory);
      name_buffer(memory, buffer.name);
      if (buffer.is_initialised) target_->upload(memory, std::vector<char>(buffer.bytes).data(), buffer.bytes);
    }
  }
  ~FaultyCall() {
    for (void* memory : call_.operands) target_->release(memory);
  }
  FaultyCall(const FaultyCall&) = delete;
  FaultyCall& operator=(const FaultyCall&) = delete;
  const Call& call() const { return call_; }

 private:
  std::unique_ptr<Target> target_;
  Call call_;
};

/// What the emulator finds when it runs the kernel in this order. Throws Error if it cannot run it at all.
inline std::vector<Finding> findings_of(const Faulty& faulty, Order order) {
  const FaultyCall buffers(faulty);
  Recording recording({.order = order, .hazards = true, .budget = 1 << 22});
  faulty.run(buffers.call());
  return recording.counts().findings;
}

/// Whether a finding is the planted fault: of a kind that names it, in its array, at a line of its file.
inline bool names(const Finding& finding, const Faulty& faulty) {
  const auto& kinds = faulty.findings;
  return std::find(kinds.begin(), kinds.end(), finding.kind) != kinds.end() &&
         (faulty.buffer.empty() || finding.buffer == faulty.buffer) &&
         finding.text().find(faulty.file + ":") != std::string::npos;
}

}  // namespace rung
