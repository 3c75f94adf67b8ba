/// Cores and caches in a build without hwloc.
#include "common/machine/topology.hpp"

namespace rung {

std::optional<Topology> read_topology() { return topology_in("/sys/devices/system/cpu", processors_of_process()); }

}  // namespace rung
