/// The device catalogue: what the data sheets promise of each GPU that the study speaks of.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/registry.hpp"

namespace rung {

/// A document of experiments/sources.toml, and what is taken from it, unless everything is.
struct Reference {
  std::string_view id, what;
};

/// Peak rates in addition to FP32's, in GFLOP/s (for int8 Gop/s): dense, never the double rate of sparse matrices;
/// tensor units accumulate in FP32 (int8: in int32), which on GeForce cards is half the rate of accumulating in FP16.
/// 0: the device has no such units. Nothing: not known.
struct Peaks {
  std::optional<double> fp64;  ///< of the ordinary units
  std::optional<double> fp64_tensor, tf32, bf16, fp16, fp8, int8;
};

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
  Peaks peaks;
  std::array<Reference, 3> sources;  ///< the first has all that the others do not name
  std::string_view note;
};

/// A peak of the catalogue under the name that users give.
struct PeakKind {
  std::string_view name;                  ///< "fp32", "tf32" ...
  std::string_view what;                  ///< "FP32", "TF32 on tensor cores" ...
  std::optional<double> Peaks::*further;  ///< its place in Device::peaks; null: FP32, which every device has
};

/// fp32 first, then fp64 and the tensor units' types.
std::span<const PeakKind> peak_kinds();

/// The kind called `name`: "tf32", "FP64-tensor". Throws Error, listing them, if there is none.
const PeakKind& peak_kind(std::string_view name);

/// The peak called `kind` in GFLOP/s; 0: no such units; nothing: not known. Throws as peak_kind() does.
std::optional<double> peak_gflops(const Device& device, std::string_view kind);

/// Every device, oldest first.
std::span<const Device> devices();

/// The device called `name`. Case, blanks, punctuation and the words NVIDIA, GeForce, Tesla and Quadro do not matter:
/// "a100", "RTX 3080" and "NVIDIA GeForce RTX 3080" are all found. Throws Error, with the nearest name, if none is.
const Device& find_device(std::string_view name);

/// The data sheet of a device by the name that CUDA reports ("NVIDIA H200"), or null. Never guesses: a variant that the
/// catalogue does not list ("H200 NVL", "RTX 3080 Laptop GPU") has other limits and so gives null.
const Device* match_device(std::string_view cuda_name);

/// The driver's values for a GPU. 0 where it reports none.
struct DriverFacts {
  std::string name;
  int major = 0, minor = 0, sm_count = 0;
  std::size_t l2_bytes = 0, dram_bytes = 0;
  double boost_mhz = 0, dram_gbytes_per_s = 0;
  std::size_t shared_per_sm = 0, shared_per_block_optin = 0;
};

/// Where the catalogue differs from the driver, one sentence each. Clocks count from 2 % on, bandwidth from
/// 5 %, memory from 10 %: data sheets round, and a driver keeps some of the memory.
std::vector<std::string> differences(const Device& device, const DriverFacts& driver);

}  // namespace rung
