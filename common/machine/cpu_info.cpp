#include "common/machine/cpu_info.hpp"

#include <omp.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <optional>
#include <vector>

#include "common/machine/control_groups.hpp"
#include "common/machine/topology.hpp"
#include "common/registry.hpp"

namespace rung {
namespace {

std::size_t sum(const std::vector<std::size_t>& sizes) {
  std::size_t total = 0;
  for (const std::size_t size : sizes) total += size;
  return total;
}

std::size_t smallest(const std::vector<std::size_t>& sizes) {
  return sizes.empty() ? 0 : *std::min_element(sizes.begin(), sizes.end());
}

/// A file's first line; empty if it cannot be read.
std::string line_in(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// What follows `key` and a colon (and blanks) in a file of "key: value" lines; empty if it is not there.
std::string value_of(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(key)) {
      const std::size_t colon = line.find(':');
      const std::size_t start = colon == std::string::npos ? colon : line.find_first_not_of(" \t", colon + 1);
      return start == std::string::npos ? "" : line.substr(start);
    }
  return "";
}

/// Bytes that /proc/meminfo gives in kB under `key`.
std::size_t meminfo(const std::string& key) {
  const std::string value = value_of("/proc/meminfo", key);
  return value.empty() ? 0 : std::stoull(value) * 1024;
}

std::string widest_simd() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return "AVX-512";
  if (__builtin_cpu_supports("avx2")) return "AVX2";
  if (__builtin_cpu_supports("avx")) return "AVX";
  return "SSE2";
#elif defined(__aarch64__)
  return "NEON";
#else
  return "";
#endif
}

/// Linux on ARM gives no name, but whose design it is and which: the numbers of the register MIDR_EL1.
std::string processor_name() {
  const auto field = [](const char* key) { return value_of("/proc/cpuinfo", key); };
  const std::string name = field("model name"), part = field("CPU part");
  return !name.empty() || part.empty() ? name : "ARM, implementer " + field("CPU implementer") + ", part " + part;
}

std::size_t usable_memory() {
  std::size_t least = meminfo("MemTotal");
  for (const MemoryLimit& group : ControlGroups().memory_limits(meminfo("MemTotal")))
    least = std::min(least, group.limit);
  return least;
}

CpuInfo read_cpu_info() {
  CpuInfo info;
  info.simd = widest_simd();
  info.name = processor_name();
  if (const std::string flags = value_of("/proc/cpuinfo", "flags"); !flags.empty())
    info.is_virtual = (flags + " ").find(" hypervisor ") != std::string::npos;
  info.governor = line_in("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  info.memory_bytes = usable_memory();
  info.cores = info.hardware_threads = omp_get_num_procs();
  const std::optional<Topology> topology = read_topology();
  if (!topology) return info;
  info.cores = std::max(1, topology->cores);
  info.hardware_threads = std::max(1, topology->hardware_threads);
  info.l1d_bytes = smallest(topology->l1d);
  info.l2_bytes = smallest(topology->l2);
  info.l3_bytes = smallest(topology->l3);
  info.all_l2_bytes = sum(topology->l2);
  info.all_l3_bytes = sum(topology->l3);
  return info;
}

}  // namespace

const CpuInfo& cpu_info() {
  static const CpuInfo info = read_cpu_info();
  return info;
}

int usable_processors() {
  static const int usable = threads_within(ControlGroups().cpu_quota(), omp_get_num_procs());
  return usable;
}

int threads_asked_for() {
  static const int threads = [] {
    const char* wanted = std::getenv("OMP_NUM_THREADS");
    return wanted && *wanted ? omp_get_max_threads() : usable_processors();
  }();
  return threads;
}

namespace {

/// The most threads of a team. On a machine that is busy there are fewer if their number may change (OMP_DYNAMIC).
int most_in_a_team() {
  omp_set_dynamic(0);
  return omp_get_max_active_levels() < 1 ? 1 : omp_get_thread_limit();
}

}  // namespace

int cpu_threads() {
  static const int threads = std::min(threads_asked_for(), most_in_a_team());
  return threads;
}

std::string team_limit() {
  const int most = most_in_a_team();
  if (omp_get_max_active_levels() < 1) return "OMP_MAX_ACTIVE_LEVELS=0";
  return most < kMostThreads ? "OMP_THREAD_LIMIT=" + std::to_string(most) : "";
}

int threads_given(int asked) {
  most_in_a_team();
  int given = 1;
#pragma omp parallel num_threads(asked)
#pragma omp single
  given = omp_get_num_threads();
  return given;
}

int processors_given(int asked) {
  cpu_set_t all;
  CPU_ZERO(&all);
#pragma omp parallel num_threads(asked)
  {
    cpu_set_t own;
    CPU_ZERO(&own);
    const bool is_known = sched_getaffinity(0, sizeof own, &own) == 0;
#pragma omp critical
    if (is_known) CPU_OR(&all, &all, &own);
  }
  return CPU_COUNT(&all) > 0 ? CPU_COUNT(&all) : omp_get_num_procs();
}

void check_cpu_threads() {
  if (cpu_threads() > kMostThreads)
    throw Error("OMP_NUM_THREADS=" + std::string(std::getenv("OMP_NUM_THREADS")) + ": more than " +
                std::to_string(kMostThreads) + " threads");
}

UseThreads::UseThreads(int count) {
  const int all = cpu_threads();  // asked before anything is changed: it is what the program found
  before_ = omp_get_max_threads();
  omp_set_num_threads(count > 0 ? count : all);
}

UseThreads::~UseThreads() { omp_set_num_threads(before_); }

std::string host_name() {
  char given[256] = "host";
  gethostname(given, sizeof given - 1);
  std::string name = given;
  for (char& letter : name)
    if (!std::isalnum(static_cast<unsigned char>(letter)) && letter != '-' && letter != '_' && letter != '.')
      letter = '-';
  if (name.find_first_not_of('.') == std::string::npos) return "host";
  return name;
}

std::size_t available_memory() {
  std::size_t least = meminfo("MemAvailable");
  if (least == 0) least = std::numeric_limits<std::size_t>::max();  // unknown: the allocation decides
  for (const MemoryLimit& group : ControlGroups().memory_limits(meminfo("MemTotal")))
    least = std::min(least, group.limit > group.used ? group.limit - group.used : 0);
  return least;
}

}  // namespace rung
