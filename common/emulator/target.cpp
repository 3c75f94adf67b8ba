/// The emulator as a target of the harness, and count(), which runs a kernel on its problem's own inputs.
#include <omp.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>
#include <string>

#include "common/machine/target.hpp"
#include "common/emulator/device_memory.hpp"
#include "common/emulator/emulator.hpp"

namespace rung {
namespace {

/// MemAvailable of the system.
std::size_t available_bytes() {
  std::ifstream file("/proc/meminfo");
  for (std::string key; file >> key; file.ignore(std::numeric_limits<std::streamsize>::max(), '\n'))
    if (std::size_t kilobytes = 0; key == "MemAvailable:" && file >> kilobytes) return kilobytes << 10;
  return 0;
}

/// Runs the kernel, by its plain build if nobody counts or checks; a failure says which kernel it was.
void emulate(const Kernel& kernel, const Call& call) try {
  const Recording* recording = Recording::current();
  const bool is_watched = recording && (recording->options().counting || recording->options().hazards);
  (is_watched || !kernel.answer ? kernel.emulate : kernel.answer)(call);
} catch (const Error& error) {
  throw WrongResult(kernel.name + ": " + error.what());
}

class EmulatorTarget : public Target {
 public:
  std::size_t free_bytes() const override { return available_bytes(); }
  void* allocate(std::size_t bytes) override { return allocate_on_device(bytes); }
  void release(void* memory) noexcept override { release_on_device(memory); }
  void upload(void* to, const void* host, std::size_t bytes) override {
    std::memcpy(to, host, bytes);
    mark_written(to, bytes);
  }
  void download(void* host, const void* from, std::size_t bytes) override { std::memcpy(host, from, bytes); }

  std::string refuse(const Kernel& kernel, const Call& call) const override {
    return refuse_emulation(kernel, call.launch);
  }
  void run(const Kernel& kernel, const Call& call) override { emulate(kernel, call); }
  /// The emulator's own time, which says nothing about a GPU; caches are not modelled, so the mode is moot.
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

struct Release {
  void operator()(void* memory) const { release_on_device(memory); }
};

/// The problem's operands on the host: inputs filled, outputs poisoned with NaN.
class Operands {
 public:
  Operands(const Problem& problem, const Params& params, std::uint64_t seed) {
    const std::vector<Operand> operands = problem.operands(params);
    for (const Operand& operand : operands) {
      owned_.emplace_back(allocate_on_device(operand.bytes()));
      name_buffer(owned_.back().get(), operand.name);
      std::memset(owned_.back().get(), 0xff, operand.bytes());
      pointers_.push_back(owned_.back().get());
    }
    problem.fill(params, Fill::random, seed, pointers_);
    for (std::size_t i = 0; i < operands.size(); ++i)
      if (operands[i].is_input()) mark_written(pointers_[i], operands[i].bytes());
  }
  const std::vector<void*>& pointers() const { return pointers_; }
  std::vector<const void*> read_only() const { return {pointers_.begin(), pointers_.end()}; }

 private:
  std::vector<std::unique_ptr<void, Release>> owned_;
  std::vector<void*> pointers_;
};

}  // namespace

std::unique_ptr<Target> open_emulator() { return std::make_unique<EmulatorTarget>(); }

Params emulated_params(const Kernel& kernel, const Params& given) {
  const Problem& problem = find_problem(kernel.family());
  Params sizes;
  for (const std::string& name : problem.size_names)
    if (given.has(name)) sizes.set(name, given.at(name));
  if (sizes.empty() && kernel.sizes) sizes = kernel.sizes();
  Params all = problem.complete(sizes);
  for (const auto& [name, value] : with_tunables(kernel, given)) all.set(name, value);
  return all;
}

Counts count(const Kernel& kernel, const Params& given, const EmulatorOptions& options) {
  const auto refuse = [&](const std::string& reason) {
    if (!reason.empty()) throw Error(kernel.name + ": " + reason);
  };
  refuse(refuse_emulation(kernel, {}));
  const Params params = emulated_params(kernel, given);
  refuse(refusal(kernel, params));
  Call call;
  call.params = params;
  call.launch = kernel.launch(params);
  refuse(refuse_emulation(kernel, call.launch));

  const Problem& problem = find_problem(kernel.family());
  const Operands operands(problem, params, options.seed);
  call.operands = operands.pointers();
  const Judge judge = problem.reference(params, Fill::random, options.seed, operands.read_only());  // may read C
  Recording recording(options);
  emulate(kernel, call);
  Counts counts = std::move(recording.counts());
  counts.check = judge(operands.read_only());
  return counts;
}

}  // namespace rung
