/// The three staircases of occupancy as a picture.
#pragma once

#include <string>

#include "common/model/occupancy.hpp"

namespace rung {

/// An SVG document: occupancy against block size, registers a thread and shared memory a block, each with the others as
/// `block` has them, and `block` itself marked. Throws as occupancy() does.
std::string occupancy_plot(const std::string& device, const SmLimits& sm, const BlockNeeds& block);

}  // namespace rung
