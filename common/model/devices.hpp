/// The device catalogue: what the data sheets promise of each GPU that the study speaks of.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

namespace rung {

/// One GPU, by its data sheet. FP32 counts a fused (or dual-issued) multiply-add as two operations, at the boost clock.
struct Device {
  std::string_view name;                    ///< as tables show it
  std::array<std::string_view, 4> aliases;  ///< short forms, and the names that CUDA reports
  int major = 0, minor = 0;                 ///< compute capability
  int sm_count = 0;
  double boost_mhz = 0;          ///< of the FP32 units (the "shader clock" before Kepler)
  double peak_fp32_gflops = 0;   ///< GFLOP/s
  double dram_gbytes_per_s = 0;  ///< decimal GB/s
  std::size_t l2_bytes = 0;      ///< 0: no cache for global memory
  std::size_t dram_bytes = 0;    ///< nominal capacity; a data sheet's "GB" is 2^30 bytes here
  std::string_view source;
};

/// Every device, oldest first.
std::span<const Device> devices();

/// The device called `name`. Case, blanks, punctuation and the words NVIDIA, GeForce, Tesla and Quadro do not matter:
/// "a100", "RTX 3080" and "NVIDIA GeForce RTX 3080" are all found. Throws Error, with the nearest name, if none is.
const Device& find_device(std::string_view name);

/// The data sheet of a device by the name that CUDA reports ("NVIDIA H200"), or null. Never guesses: a variant that the
/// catalogue does not list ("H200 NVL", "RTX 3080 Laptop GPU") has other limits and so gives null.
const Device* match_device(std::string_view cuda_name);

}  // namespace rung
