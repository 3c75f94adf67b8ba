/// The device catalogue on the command line: listed, searched by name, and compared with the GPU of this machine.
#pragma once

#include <string>
#include <vector>

#include "common/model/devices.hpp"

namespace rung {

/// The devices called `names`; all of the catalogue if there are none. "local" is the GPU of this machine: differences
/// of the catalogue and the driver are reported on stderr. Throws Error for a name or a local GPU that is not in the
/// catalogue, NoGpuError where there is no local GPU.
std::vector<const Device*> chosen_devices(const std::vector<std::string>& names);

/// Whether the user requests the catalogue itself: the only name is "list".
bool asks_for_list(const std::vector<std::string>& names);

/// Prints every device with its peaks, limits and sources, and how this machine's GPU compares with its entry.
void print_catalogue(bool json);

/// "989400", "none" where the device has no such units, "unknown".
std::string peak_text(const std::optional<double>& gflops);

/// "19500" or "388.8": one decimal below 1000, none above.
std::string rate_text(double value);

}  // namespace rung
