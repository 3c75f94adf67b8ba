/// What control groups and the system leave of the machine: processors, memory, huge pages, disk.
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <limits>

#include "common/doctor/doctor.hpp"
#include "common/machine/control_groups.hpp"

namespace rung::doctor {
namespace {

constexpr double kGiB = 1024.0 * 1024 * 1024;
constexpr double kLeastMemory = 4 * kGiB;  // the largest sizes of the full study take 3
constexpr double kLeastDisk = 1 * kGiB;    // a full study with its report takes a tenth of that

ControlGroups groups(const System& system) {
  return ControlGroups(system.root / "proc/self/cgroup", system.root / "sys/fs/cgroup");
}

Finding processor_time(const System& system) {
  const double quota = groups(system).cpu_quota();
  if (std::isinf(quota)) return {.what = "CPU limit", .found = "none"};
  return {.what = "CPU limit",
          .verdict = Verdict::costs,
          .found = fmt::format("the control group allows {:g} processors", quota),
          .cost =
              "as many threads are used; a part of a processor is taken away in slices of milliseconds, which "
              "spreads samples",
          .remedy = "start the container or job with whole processors (docker run --cpuset-cpus, slurm --exclusive)"};
}

Finding memory(const System& system) {
  double bytes = 0;
  std::string line = system.text("proc/meminfo");
  if (const std::size_t at = line.find("MemTotal:"); at != std::string::npos)
    bytes = std::atof(line.c_str() + at + 9) * 1024;
  std::string whose = "of the machine";
  for (const MemoryLimit& limit : groups(system).memory_limits(static_cast<std::size_t>(bytes)))
    if (static_cast<double>(limit.limit) < bytes) {
      bytes = static_cast<double>(limit.limit);
      whose = "allowed by the control group";
    }
  if (bytes == 0) return {.what = "memory", .found = "the system does not report it"};
  const std::string found = fmt::format("{:.1f} GiB {}", bytes / kGiB, whose);
  if (bytes >= kLeastMemory) return {.what = "memory", .found = found};
  return {.what = "memory",
          .verdict = Verdict::costs,
          .found = found,
          .cost = "points that do not fit are skipped, and each says so; building takes up to 1 GiB a job",
          .remedy = "give the container or job 4 GiB or more; build with CMAKE_BUILD_PARALLEL_LEVEL=1"};
}

Finding huge_pages(const System& system) {
  const std::string choices = system.line("sys/kernel/mm/transparent_hugepage/enabled");  // "always [madvise] never"
  const std::size_t open = choices.find('['), close = choices.find(']');
  if (close == std::string::npos) return {.what = "huge pages", .found = "the system does not report it"};
  const std::string mode = choices.substr(open + 1, close - open - 1);
  if (mode != "never") return {.what = "huge pages", .found = mode};
  return {.what = "huge pages",
          .verdict = Verdict::costs,
          .found = "never",
          .cost = "large arrays lie in pages of 4 KiB: more TLB misses, and prefetchers stop at each page's end",
          .remedy = "as root: echo madvise > /sys/kernel/mm/transparent_hugepage/enabled"};
}

Finding disk(const System& system) {
  const std::optional<double> bytes = system.free_bytes ? system.free_bytes(".") : std::nullopt;
  if (!bytes) return {.what = "disk space", .found = "the system does not report it"};
  const std::string found = fmt::format("{:.1f} GiB free in this folder", *bytes / kGiB);
  if (*bytes >= kLeastDisk) return {.what = "disk space", .found = found};
  return {.what = "disk space",
          .verdict = Verdict::wrong,
          .found = found,
          .cost = "a run ends with code 4 when its results cannot be written; what was measured before stays",
          .remedy = "free 1 GiB, or write elsewhere with --outdir"};
}

Finding results(const System& system) {
  const std::string folder = system.results.string();
  if (!system.can_write || system.can_write(system.results)) return {.what = "results", .found = "go to " + folder};
  return {.what = "results",
          .verdict = Verdict::wrong,
          .found = folder + " cannot be written",
          .cost = "a run ends with code 4",
          .remedy = "start it in a folder of yours, or give one with --outdir"};
}

Finding threads(const System& system) {
  const std::string given = fmt::format("{} of {}", system.threads_given, system.threads_asked);
  if (system.threads_given >= system.threads_asked) return {.what = "OpenMP threads", .found = given};
  return {.what = "OpenMP threads",
          .verdict = Verdict::costs,
          .found = given + ": " + system.team_limit,
          .cost = "CPU kernels and libraries use this many at most; points with more threads are skipped",
          .remedy = "unset " + system.team_limit.substr(0, system.team_limit.find('='))};
}

const bool added = add_check({.order = 50, .look = [](const System& system) {
                                return std::vector{processor_time(system), threads(system), memory(system),
                                                   huge_pages(system),     disk(system),    results(system)};
                              }});

}  // namespace
}  // namespace rung::doctor
