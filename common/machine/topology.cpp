/// Cores and caches by hwloc.
#include "common/machine/topology.hpp"

#include <fcntl.h>
#include <hwloc.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <type_traits>

namespace rung {
namespace {

struct Destroy {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using Loaded = std::unique_ptr<std::remove_pointer_t<hwloc_topology_t>, Destroy>;

void restrict_to(hwloc_topology_t topology, const std::vector<int>& processors) {
  hwloc_bitmap_t usable = hwloc_bitmap_alloc();
  if (!usable) throw std::bad_alloc();
  for (const int id : processors) hwloc_bitmap_set(usable, static_cast<unsigned>(id));
  if (!processors.empty()) hwloc_topology_restrict(topology, usable, 0);
  hwloc_bitmap_free(usable);
}

Loaded load() {
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) != 0) return nullptr;
  Loaded owned(topology);
  if (hwloc_topology_load(topology) != 0 || !hwloc_topology_is_thissystem(topology)) return nullptr;
  restrict_to(topology, processors_of_process());
  return owned;
}

constexpr std::size_t kMostCaches = 4096;  // of a level
constexpr hwloc_obj_type_t kLevels[] = {HWLOC_OBJ_L1CACHE, HWLOC_OBJ_L2CACHE, HWLOC_OBJ_L3CACHE};

/// What hwloc reported.
struct Found {
  bool is_complete;
  int cores, hardware_threads;
  std::size_t caches[3], bytes[3][kMostCaches];

  std::vector<std::size_t> level(int i) const { return {bytes[i], bytes[i] + caches[i]}; }
};

/// hwloc reads from its variables what machine to describe (HWLOC_SYNTHETIC, HWLOC_XMLFILE …), and whether to believe
/// it.
void forget_other_machines() {
  std::vector<std::string> names;
  for (char** variable = environ; *variable; ++variable)
    if (const std::string text = *variable; text.starts_with("HWLOC_")) names.push_back(text.substr(0, text.find('=')));
  for (const std::string& name : names) unsetenv(name.c_str());
}

void find(Found& found) {
  forget_other_machines();
  const Loaded topology = load();
  if (!topology) return;
  found.cores = hwloc_get_nbobjs_by_type(topology.get(), HWLOC_OBJ_CORE);
  found.hardware_threads = hwloc_get_nbobjs_by_type(topology.get(), HWLOC_OBJ_PU);
  for (int i = 0; i < 3; ++i)
    for (hwloc_obj_t cache = nullptr; (cache = hwloc_get_next_obj_by_type(topology.get(), kLevels[i], cache));)
      if (found.caches[i] < kMostCaches) found.bytes[i][found.caches[i]++] = cache->attr->cache.size;
  found.is_complete = true;
}

/// hwloc uses memory without asking whether it was given any, and must not take the program with it: it reads in a
/// process of its own.
void find_in_another_process(Found& found) {
  const pid_t process = fork();
  if (process == 0) {
    std::signal(SIGSEGV, SIG_DFL);
    if (const int nowhere = open("/dev/null", O_WRONLY); nowhere >= 0)
      dup2(nowhere, STDERR_FILENO);  // hypervisors report odd topologies; hwloc repairs them, with a page of warning
    try {
      find(found);
    } catch (const std::bad_alloc&) {  // not complete
    }
    _exit(0);
  }
  while (process > 0 && waitpid(process, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace

std::optional<Topology> read_topology() {
  std::optional<Topology> read;
  void* const shared = mmap(nullptr, sizeof(Found), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared != MAP_FAILED) {
    Found& found = *static_cast<Found*>(shared);
    find_in_another_process(found);
    if (found.is_complete) read = {found.cores, found.hardware_threads, found.level(0), found.level(1), found.level(2)};
    munmap(shared, sizeof(Found));
  }
  return read ? read : topology_in("/sys/devices/system/cpu", processors_of_process());
}

}  // namespace rung
