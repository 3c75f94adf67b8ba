/// What this machine's processor is: names, counts, caches and memory, as far as this process may use them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace rung {

/// Caches and cores, restricted to the processors that this process may run on. A cache that the
/// machine (or its hypervisor) does not report has size 0.
struct CpuInfo {
  std::string name;           ///< "AMD EPYC 9554 64-Core Processor", "ARM, implementer 0x41, part 0xd0c"
  std::string simd;           ///< the widest of "SSE2", "AVX", "AVX2", "AVX-512", "NEON" that CPU and system allow
  std::string governor;       ///< "performance"; empty if not reported
  int cores = 1;              ///< physical
  int hardware_threads = 1;   ///< logical processors
  std::size_t l1d_bytes = 0;  ///< of one L1 data cache
  std::size_t l2_bytes = 0;   ///< of one L2
  std::size_t l3_bytes = 0;   ///< of one L3
  std::size_t all_l2_bytes = 0;
  std::size_t all_l3_bytes = 0;
  std::size_t memory_bytes = 0;    ///< of the machine, or less if a control group limits this process
  std::optional<bool> is_virtual;  ///< runs under a hypervisor; unknown on ARM

  bool has_smt() const { return hardware_threads > cores; }
};

/// Read once, at the first call.
const CpuInfo& cpu_info();

/// Logical processors that the affinity mask and the control group's quota of CPU time leave to this process.
int usable_processors();

/// More threads are a mistake, which OpenMP's library may crash on.
constexpr int kMostThreads = 1024;

/// Throws Error if OMP_NUM_THREADS is above kMostThreads.
void check_cpu_threads();

/// What OMP_NUM_THREADS was when the program began, else usable_processors().
int threads_asked_for();

/// Threads that the CPU kernels use unless a point sets them: threads_asked_for(), but at most the size of team that
/// OpenMP gives. Does not follow UseThreads.
int cpu_threads();

/// "OMP_THREAD_LIMIT=2": what keeps teams of OpenMP small; empty where nothing does.
std::string team_limit();

/// How many threads OpenMP gives if `asked` are requested, found by starting a team.
int threads_given(int asked);

/// How many processors the threads of such a team may run on together: fewer than threads where OMP_PLACES or
/// GOMP_CPU_AFFINITY binds several of them to one.
int processors_given(int asked);

/// Lets OpenMP's parallel regions have `count` threads (0: cpu_threads()), which omp_get_max_threads() then returns,
/// until the end of the block. Existing threads beyond a smaller team wait.
class UseThreads {
 public:
  explicit UseThreads(int count);
  ~UseThreads();
  UseThreads(const UseThreads&) = delete;
  UseThreads& operator=(const UseThreads&) = delete;

 private:
  int before_ = 0;
};

/// A name for a folder: other characters than letters, digits, '.', '_' and '-' are '-'. "host" where the system has no
/// name.
std::string host_name();

/// Bytes that this process can still allocate: the system's available memory, or less if a control group limits it.
std::size_t available_memory();

}  // namespace rung
