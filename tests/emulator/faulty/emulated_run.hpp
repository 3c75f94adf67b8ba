/// Runs a planted fault in the emulator.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
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
      std::vector<float> values = buffer.values;
      values.resize((buffer.bytes + sizeof(float) - 1) / sizeof(float));
      if (buffer.is_initialised) target_->upload(memory, values.data(), buffer.bytes);
    }
  }
  ~FaultyCall() {
    for (void* memory : call_.operands) target_->release(memory);
  }
  FaultyCall(const FaultyCall&) = delete;
  FaultyCall& operator=(const FaultyCall&) = delete;
  const Call& call() const { return call_; }

  std::vector<float> last_buffer(const Faulty& faulty) const {
    std::vector<float> values(faulty.buffers.back().bytes / sizeof(float));
    target_->download(values.data(), call_.operands.back(), values.size() * sizeof(float));
    return values;
  }

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

/// The last buffer of a kernel of floats after it ran in this order; nothing if a fault ends it.
inline std::optional<std::vector<float>> result_of(const Faulty& faulty, Order order) {
  const FaultyCall buffers(faulty);
  Recording recording({.order = order, .budget = 1 << 22});
  try {
    faulty.run(buffers.call());
  } catch (const Error&) {
    return std::nullopt;
  }
  return buffers.last_buffer(faulty);
}

/// How many elements of its result differ from its right twin's; nothing if a fault ends it.
inline std::optional<int> wrong_elements(const Faulty& faulty, Order order) {
  const auto result = result_of(faulty, order), right = result_of(*twin_of(faulty), order);
  if (!result || !right) return std::nullopt;
  int wrong = 0;
  for (std::size_t i = 0; i < right->size(); ++i) wrong += (*result)[i] != (*right)[i];
  return wrong;
}

/// Whether a finding is the planted fault: of a kind that names it, in its array, at a line of its file.
inline bool names(const Finding& finding, const Faulty& faulty) {
  const auto& kinds = faulty.findings;
  return std::find(kinds.begin(), kinds.end(), finding.kind) != kinds.end() &&
         (faulty.buffer.empty() || finding.buffer == faulty.buffer) &&
         finding.text().find(faulty.file + ":") != std::string::npos;
}

}  // namespace rung
