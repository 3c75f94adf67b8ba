#include "common/harness/count.hpp"

#include <omp.h>

#include "common/harness/workload.hpp"
#include "common/machine/cpu_info.hpp"

namespace rung {

std::size_t count_bytes(const Point& point, const EmulatorOptions& options) {
  // In addition to the operands: a flag per byte, two sets of inputs and the expected results; for hazards two or three
  // records of 8 bytes per word.
  const std::size_t copies = options.hazards ? 11 : 5;
  return copies * workload_bytes(*point.kernel, *point.problem, point.params());
}

namespace {

/// The shape of the kernel's launch; a missing name in .launch is an error of the record.
Launch launch_of(const Kernel& kernel, const Params& params) try {
  return kernel.gpu.launch(params);
} catch (const std::exception& error) {
  throw WrongResult(kernel.name + ": its .gpu.launch fails: " + error.what());
}

}  // namespace

CountedRun count(const Point& point, const EmulatorOptions& options) {
  const Kernel& kernel = *point.kernel;
  const auto refuse = [&](const std::string& reason) {
    if (!reason.empty()) throw Error(kernel.name + ": " + reason);
  };
  const auto target = open_emulator();
  Call call{.params = point.params()};
  refuse(refuse_emulation(kernel, {}));
  refuse(refusal(kernel, call.params));
  call.launch = launch_of(kernel, call.params);
  refuse(target->refuse(kernel, call));
  refuse(shortage(count_bytes(point, options), target->free_bytes(), ""));
  Workload workload(*target, kernel, *point.problem, call);
  const HostInputs inputs(*point.problem, point.sizes, *point.data, options.seed);
  const bool one_block_at_a_time = kernel.gpu.blocks_wait && options.counting && !options.hazards;
  const UseThreads threads(one_block_at_a_time ? 1 : omp_get_max_threads());
  Recording recording(options);
  CountedRun counted{.check = workload.verify(inputs)};
  counted.counts = std::move(recording.counts());
  return counted;
}

}  // namespace rung
