/// Cores and caches by hwloc.
#include "common/machine/topology.hpp"

#include <hwloc.h>

#include <cstdlib>
#include <memory>
#include <type_traits>

namespace rung {
namespace {

struct Destroy {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using Loaded = std::unique_ptr<std::remove_pointer_t<hwloc_topology_t>, Destroy>;

void restrict_to(hwloc_topology_t topology, const std::vector<int>& processors) {
  hwloc_bitmap_t usable = hwloc_bitmap_alloc();
  for (const int id : processors) hwloc_bitmap_set(usable, static_cast<unsigned>(id));
  if (!processors.empty()) hwloc_topology_restrict(topology, usable, 0);
  hwloc_bitmap_free(usable);
}

Loaded load() {
  setenv("HWLOC_HIDE_ERRORS", "2", 0);  // hypervisors tell odd topologies; hwloc repairs them, with a page of warning
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) != 0) return nullptr;
  Loaded owned(topology);
  if (hwloc_topology_load(topology) != 0) return nullptr;
  restrict_to(topology, processors_of_process());
  return owned;
}

std::vector<std::size_t> caches(hwloc_topology_t topology, hwloc_obj_type_t level) {
  std::vector<std::size_t> sizes;
  for (hwloc_obj_t cache = nullptr; (cache = hwloc_get_next_obj_by_type(topology, level, cache));)
    sizes.push_back(cache->attr->cache.size);
  return sizes;
}

}  // namespace

std::optional<Topology> read_topology() {
  const Loaded topology = load();
  if (!topology) return std::nullopt;
  return Topology{.cores = hwloc_get_nbobjs_by_type(topology.get(), HWLOC_OBJ_CORE),
                  .hardware_threads = hwloc_get_nbobjs_by_type(topology.get(), HWLOC_OBJ_PU),
                  .l1d = caches(topology.get(), HWLOC_OBJ_L1CACHE),
                  .l2 = caches(topology.get(), HWLOC_OBJ_L2CACHE),
                  .l3 = caches(topology.get(), HWLOC_OBJ_L3CACHE)};
}

}  // namespace rung
