/// A word that looks random, from any other, in a few integer operations; the same on the CPU and the GPU.
#pragma once

#include <cstdint>

#include "common/host_device.hpp"

namespace rung {

RUNG_ANYWHERE std::uint32_t scrambled_word(std::uint32_t x) {
  x = (x ^ (x >> 16)) * 0x7FEB352Du;
  x = (x ^ (x >> 15)) * 0x846CA68Bu;
  return x ^ (x >> 16);
}

}  // namespace rung
