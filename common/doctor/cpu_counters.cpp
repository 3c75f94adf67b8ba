/// Whether the processor's events and its energy counters can be read.
/// Source: Linux, Documentation/admin-guide/sysctl/kernel.rst (perf_event_paranoid) and power/powercap/powercap.rst.
#include <cstdlib>

#include "common/doctor/doctor.hpp"

namespace rung::doctor {
namespace {

Finding events(const System& system) {
  const std::string level = system.line("proc/sys/kernel/perf_event_paranoid");
  const char* const cost = "no bytes_…_measured and instructions_measured: the CPU's traffic is known by formula only";
  if (level.empty())
    return {.what = "CPU counters",
            .verdict = Verdict::costs,
            .found = "this kernel has no perf_event_paranoid",
            .cost = cost,
            .remedy = "use a kernel with perf events"};
  if (std::atoi(level.c_str()) > 2)
    return {.what = "CPU counters",
            .verdict = Verdict::costs,
            .found = "perf_event_paranoid is " + level,
            .cost = cost,
            .remedy = "as root: sysctl kernel.perf_event_paranoid=2"};
  if (system.entries("sys/bus/event_source/devices", "cpu").empty() &&
      system.entries("sys/bus/event_source/devices", "armv8").empty())
    return {.what = "CPU counters",
            .verdict = Verdict::costs,
            .found = "the processor's events are not exposed",
            .cost = cost,
            .remedy = "measure on the machine itself, or let the hypervisor expose its counters"};
  return {.what = "CPU counters", .found = "permitted (perf_event_paranoid is " + level + ")"};
}

Finding energy(const System& system) {
  const auto zones = system.entries("sys/class/powercap", "intel-rapl:");
  const char* const cost = "no energy_j and power_w of the CPU";
  if (zones.empty())
    return {.what = "CPU energy",
            .verdict = Verdict::costs,
            .found = "no RAPL counters",
            .cost = cost,
            .remedy = "virtual machines and most ARM processors have none; on x86 load the module intel_rapl_msr"};
  const std::string file = (zones.front() / "energy_uj").lexically_relative(system.root).string();
  if (system.line(file).empty())
    return {.what = "CPU energy",
            .verdict = Verdict::costs,
            .found = "/" + file + " is not readable",
            .cost = cost,
            .remedy = "as root: chmod a+r /sys/class/powercap/intel-rapl:*/energy_uj"};
  return {.what = "CPU energy", .found = "RAPL is readable"};
}

const bool added = add_check({.order = 30, .look = [](const System& system) {
                                return std::vector{events(system), energy(system)};
                              }});

}  // namespace
}  // namespace rung::doctor
