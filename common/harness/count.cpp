#include "common/harness/count.hpp"

#include "common/harness/workload.hpp"

namespace rung {

CountedRun count(const Point& point, const EmulatorOptions& options) {
  const Kernel& kernel = *point.kernel;
  const auto refuse = [&](const std::string& reason) {
    if (!reason.empty()) throw Error(kernel.name + ": " + reason);
  };
  const auto target = open_emulator();
  Call call{.params = point.params()};
  refuse(refuse_emulation(kernel, {}));
  refuse(refusal(kernel, call.params));
  call.launch = kernel.gpu.launch(call.params);
  refuse(target->refuse(kernel, call));
  Workload workload(*target, kernel, *point.problem, call);
  const HostInputs inputs(*point.problem, point.sizes, *point.data, options.seed);
  Recording recording(options);
  CountedRun counted{.check = workload.verify(inputs)};
  counted.counts = std::move(recording.counts());
  return counted;
}

}  // namespace rung
