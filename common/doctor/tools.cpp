/// The programs that rung and its report use, if they are there: Python with its packages, addr2line, Nsight Compute.
#include "common/doctor/doctor.hpp"

namespace rung::doctor {
namespace {

Finding python(const System& system) {
  const auto version = system.run(system.python + " --version");
  if (!version)
    return {.what = "Python",
            .verdict = Verdict::costs,
            .found = "no " + system.python,
            .cost = "no report, no `rung claims`; results are written all the same",
            .remedy = "install Python 3.10 or later with venv"};
  std::string missing;
  for (const char* package : {"numpy", "scipy", "matplotlib", "typst", "pytest"})
    if (!system.run(system.python + " -c 'import " + package + "'"))
      missing += (missing.empty() ? "" : ", ") + std::string(package);
  if (missing.empty()) return {.what = "Python", .found = *version + " with the report's packages"};
  return {.what = "Python",
          .verdict = Verdict::costs,
          .found = *version + " without " + missing,
          .cost =
              "numpy and scipy: no report and no `rung claims`; matplotlib: no figures; typst: no PDF; pytest: no "
              "tests of the report",
          .remedy = "python3 -m venv .venv && .venv/bin/pip install -r report/requirements.txt"};
}

Finding addr2line(const System& system) {
  if (system.run("command -v addr2line")) return {.what = "addr2line", .found = "installed"};
  return {.what = "addr2line",
          .verdict = Verdict::costs,
          .found = "not installed",
          .cost = "`rung count --lines` and `rung check` name no lines of the source",
          .remedy = "install binutils"};
}

/// Of interest only where there is a GPU to profile.
std::vector<Finding> profiler(const System& system) {
  if (!system.has("proc/driver/nvidia/version") && !system.has("dev/dxg")) return {};
  if (system.run("command -v ncu")) return {{.what = "Nsight Compute", .found = "installed"}};
  return {{.what = "Nsight Compute",
           .verdict = Verdict::costs,
           .found = "no ncu on the PATH",
           .cost = "experiments/profile.sh collects no hardware counters",
           .remedy = "install nsight-compute, or add the toolkit's bin folder to the PATH"}};
}

const bool added = add_check({.order = 60, .look = [](const System& system) {
                                std::vector<Finding> all{python(system), addr2line(system)};
                                for (Finding& finding : profiler(system)) all.push_back(std::move(finding));
                                return all;
                              }});

}  // namespace
}  // namespace rung::doctor
