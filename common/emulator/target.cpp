/// The emulator as a target of the harness.
#include "common/machine/target.hpp"

#include <omp.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "common/emulator/device_memory.hpp"
#include "common/emulator/emulator.hpp"
#include "common/machine/cpu_info.hpp"

namespace rung {
namespace {

/// The message for a kernel that requests what is beyond the end of a list, usually of the operands.
std::string asks_for_too_much(const Call& call, const std::exception& error) {
  const std::size_t operands = call.operands.size();
  const std::string has = operands == 0 ? "it has none" : "it has 0 to " + std::to_string(operands - 1);
  return "requests an operand or element that does not exist; of operands " + has + " (" + error.what() + ")";
}

/// Runs the kernel, in its plain build unless it is counted or checked. Adds the kernel's name to errors.
void emulate(const Kernel& kernel, const Call& call) try {
  const Recording* recording = Recording::current();
  const bool is_watched = recording && (recording->options().counting || recording->options().hazards);
  (is_watched || !kernel.gpu.answer ? kernel.gpu.emulate : kernel.gpu.answer)(call);
} catch (const std::bad_alloc&) {
  throw;
} catch (const std::out_of_range& error) {
  throw WrongResult(kernel.name + ": " + asks_for_too_much(call, error));
} catch (const std::exception& error) {
  throw WrongResult(kernel.name + ": " + error.what());
}

class EmulatorTarget : public Target {
 public:
  std::size_t free_bytes() const override { return available_memory(); }
  void* allocate(std::size_t bytes) override { return allocate_on_device(bytes); }
  void release(void* memory) noexcept override { release_on_device(memory); }
  /// Allocations have guard gaps anyway, in which the emulator finds any access.
  void* allocate_guarded(const Operand& operand) override {
    void* buffer = allocate_on_device(operand.bytes());
    name_buffer(buffer, operand.name);
    return buffer;
  }
  void release_guarded(void* buffer) noexcept override { release_on_device(buffer); }
  void poison(void* buffer, std::size_t bytes, unsigned char byte) override {
    std::memset(buffer, byte, bytes);
    mark_unwritten(buffer);
  }
  void upload(void* to, const void* host, std::size_t bytes) override {
    std::memcpy(to, host, bytes);
    mark_written(to, bytes);
  }
  void download(void* host, const void* from, std::size_t bytes) override { std::memcpy(host, from, bytes); }

  std::string refuse(const Kernel& kernel, const Call& call) const override {
    return refuse_emulation(kernel, call.launch);
  }
  void run(const Kernel& kernel, const Call& call) override { emulate(kernel, call); }
  /// The duration of the emulation, which is unrelated to a GPU's. The mode is ignored: caches are not modelled here.
  double time(const Kernel& kernel, const Call& call, std::int64_t runs, Mode) override {
    const auto start = std::chrono::steady_clock::now();
    for (std::int64_t i = 0; i < runs; ++i) run(kernel, call);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  double resolved_seconds() const override { return 1e-4; }

  nlohmann::json context() const override {
    return {{"emulator_threads", omp_get_max_threads()}, {"emulator_warp_size", 32}, {"emulator_sector_bytes", 32}};
  }
};

}  // namespace

std::unique_ptr<Target> open_emulator() { return std::make_unique<EmulatorTarget>(); }

}  // namespace rung
