/// The three staircases of occupancy as a picture.
#pragma once

#include <string>

#include "common/model/occupancy.hpp"

namespace rung {

/// An SVG document: occupancy against block size, registers per thread and shared memory per block, each with the other
/// values of `block`, and `block` itself marked. Throws as occupancy() does.
std::string occupancy_plot(const std::string& device, const SmLimits& sm, const BlockNeeds& block);

}  // namespace rung
