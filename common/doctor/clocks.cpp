/// What moves the processor's clock: governor and SMT, and other work.
/// Source: Linux, Documentation/admin-guide/pm/cpufreq.rst; Documentation/admin-guide/cputopology.rst.
#include <cstdlib>
#include <map>
#include <string>

#include "common/doctor/doctor.hpp"

namespace rung::doctor {
namespace {

int processors(const System& system) {
  int count = 0;
  for (const auto& cpu : system.entries("sys/devices/system/cpu", "cpu"))
    count += cpu.filename().string().find_first_not_of("0123456789", 3) == std::string::npos;
  return count;
}

Finding governor(const System& system) {
  std::map<std::string, int> governors;
  for (const auto& cpu : system.entries("sys/devices/system/cpu", "cpu"))
    if (const std::string name =
            system.line((cpu / "cpufreq/scaling_governor").lexically_relative(system.root).string());
        !name.empty())
      ++governors[name];
  std::string text;
  for (const auto& [name, count] : governors)
    text += (text.empty() ? "" : ", ") + name + " on " + std::to_string(count) + " processors";
  if (governors.empty())
    return {.what = "governor",
            .verdict = Verdict::costs,
            .found = "the system does not report it (a virtual machine?)",
            .cost = "the clock is neither known nor held; compare only what was measured in the same seconds",
            .remedy = "measure on the machine itself where clocks matter"};
  if (governors.size() == 1 && governors.begin()->first == "performance") return {.what = "governor", .found = text};
  return {.what = "governor",
          .verdict = Verdict::costs,
          .found = text,
          .cost = "the first samples of a point run at a lower clock, and medians spread",
          .remedy = "as root: cpupower frequency-set -g performance"};
}

Finding smt(const System& system) {
  const std::string active = system.line("sys/devices/system/cpu/smt/active");
  if (active != "1") return {.what = "SMT", .found = active == "0" ? "off" : "the system does not report it"};
  return {.what = "SMT",
          .verdict = Verdict::costs,
          .found = "on",
          .cost =
              "two threads share a core: kernels that fill a core's units gain nothing from the second and spread "
              "more",
          .remedy =
              "OMP_PLACES=cores OMP_PROC_BIND=close with OMP_NUM_THREADS at the number of cores; or as root: echo "
              "off > /sys/devices/system/cpu/smt/control"};
}

Finding load(const System& system) {
  const std::string line = system.line("proc/loadavg");
  const double busy = std::atof(line.c_str());
  const int all = processors(system);
  const std::string text = line.substr(0, line.find(' ')) + " on " + std::to_string(all) + " processors";
  if (line.empty() || all == 0) return {.what = "other work", .found = "the system does not report it"};
  if (busy <= 0.1 * all + 0.1) return {.what = "other work", .found = "load " + text};
  return {.what = "other work",
          .verdict = Verdict::costs,
          .found = "load " + text,
          .cost = "samples are disturbed; only interleaved comparisons hold",
          .remedy = "measure when the machine is idle (check with `uptime`)"};
}

const bool added = add_check({.order = 40, .look = [](const System& system) {
                                return std::vector{governor(system), smt(system), load(system)};
                              }});

}  // namespace
}  // namespace rung::doctor
