/// The GPU, its driver and the toolkit that rung was built with.
/// Source: NVIDIA, CUDA Toolkit release notes, table of the oldest drivers; the driver's README, /proc/driver/nvidia.
#include <cstdlib>
#include <sstream>

#include "common/doctor/doctor.hpp"

namespace rung::doctor {
namespace {

/// The oldest major version of the driver, under Linux, that runs programs of a toolkit's major version.
int oldest_driver(int toolkit) { return toolkit >= 13 ? 580 : toolkit == 12 ? 525 : 450; }

/// "13.0.88" of "NVIDIA 13.0.88".
std::string version_of(const std::string& compiler) { return compiler.substr(compiler.find(' ') + 1); }

/// Whether it is Linux in Windows (WSL2), which has the GPU's driver: it is seen by another device than NVIDIA's own.
bool is_in_windows(const System& system) { return system.has("dev/dxg"); }

/// "580.65.06" of "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build …".
std::string driver_version(const System& system) {
  if (is_in_windows(system))  // without an NVIDIA GPU it fails
    return system
        .run("PATH=\"$PATH:/usr/lib/wsl/lib\" nvidia-smi --query-gpu=driver_version --format=csv,noheader | head -n 1")
        .value_or("");
  std::istringstream line(system.line("proc/driver/nvidia/version"));
  for (std::string word; line >> word;)
    if (const std::size_t dot = word.find('.'); dot >= 3 && dot + 1 < word.size())
      if (word.find_first_not_of("0123456789.") == std::string::npos) return word;
  return "";
}

int nvidia_gpus_on_the_bus(const System& system) {
  int count = 0;
  for (const auto& device : system.entries("sys/bus/pci/devices", "")) {
    const auto read = [&](const char* file) {
      return system.line((device / file).lexically_relative(system.root).string());
    };
    if (read("vendor") == "0x10de" && read("class").starts_with("0x03")) ++count;  // NVIDIA; a display controller
  }
  return count;
}

std::vector<Finding> look(const System& system) {
  const std::string driver = driver_version(system);
  const int on_the_bus = nvidia_gpus_on_the_bus(system);
  if (driver.empty() && on_the_bus == 0)
    return {{.what = "GPU",
             .verdict = Verdict::costs,
             .found = "no NVIDIA GPU",
             .cost = "GPU kernels are executed and counted by the emulator, not timed; the report takes times from the "
                     "recorded results",
             .remedy = "run on a machine with an NVIDIA GPU"}};
  if (driver.empty())
    return {{.what = "GPU",
             .verdict = Verdict::wrong,
             .found = std::to_string(on_the_bus) + " on the bus, but NVIDIA's driver is not loaded",
             .cost = "the GPU cannot be used",
             .remedy = "install the driver (`nvidia-smi` then lists the GPU)"}};
  std::vector<Finding> findings{{.what = "GPU driver", .found = driver}};
  const int major = std::atoi(driver.c_str());
  if (system.cuda_compiler.empty()) {
    findings.push_back({.what = "CUDA toolkit",
                        .verdict = Verdict::wrong,
                        .found = "rung was built without CUDA",
                        .cost = "the GPU of this machine is not measured",
                        .remedy = "install the CUDA toolkit of a version that the driver runs (" +
                                  std::string(major >= 580   ? "13 or older"
                                              : major >= 525 ? "12 or older"
                                                             : "11") +
                                  ") and build again in a new folder"});
  } else {
    const std::string toolkit = version_of(system.cuda_compiler);
    const int needed = oldest_driver(std::atoi(toolkit.c_str()));
    if (major < needed)
      findings.push_back({.what = "CUDA toolkit",
                          .verdict = Verdict::wrong,
                          .found = toolkit + ", whose programs need driver " + std::to_string(needed) + " or later",
                          .cost = "the GPU refuses rung's kernels",
                          .remedy = "update the driver, or build with an older toolkit (-DCMAKE_CUDA_COMPILER=…)"});
    else
      findings.push_back({.what = "CUDA toolkit", .found = toolkit + ", as the driver allows"});
  }
  if (is_in_windows(system)) return findings;  // Windows has the devices, and decides who may read counters
  if (!system.has("dev/nvidiactl"))
    findings.push_back(
        {.what = "GPU device",
         .verdict = Verdict::wrong,
         .found = "no /dev/nvidiactl",
         .cost = "the GPU cannot be opened from here",
         .remedy = "in a container, start it with the GPU (docker run --gpus all, apptainer exec --nv)"});
  if (system.text("proc/driver/nvidia/params").find("RmProfilingAdminOnly: 1") != std::string::npos)
    findings.push_back({.what = "GPU counters",
                        .verdict = Verdict::costs,
                        .found = "for the administrator only",
                        .cost = "experiments/profile.sh gets no counters (ERR_NVGPUCTRPERM); times are not affected",
                        .remedy = "as root: options nvidia NVreg_RestrictProfilingToAdminUsers=0 in "
                                  "/etc/modprobe.d/nvidia.conf, then load the driver again; or profile as root"});
  else
    findings.push_back({.what = "GPU counters", .found = "permitted"});
  return findings;
}

const bool added = add_check({.order = 20, .look = look});

}  // namespace
}  // namespace rung::doctor
