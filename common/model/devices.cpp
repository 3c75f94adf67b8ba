#include "common/model/devices.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "common/model/occupancy.hpp"

namespace rung {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20, kGiB = std::size_t{1} << 30;

// clang-format off
// FP64's rate where the data sheet does not have it: results a clock and SM by the guide's table, times two, SMs and clock.
constexpr Reference kOldFp64 = {"cuda-guide-8", "FP64: arithmetic instructions, throughput"};
constexpr Reference kNewFp64 = {"cuda-guide", "FP64: arithmetic instructions, throughput"};

constexpr Peaks no_tensor(double fp64) {
  return {.fp64 = fp64, .fp64_tensor = 0, .tf32 = 0, .bf16 = 0, .fp16 = 0, .fp8 = 0, .int8 = 0};
}

constexpr Peaks kVolta = {.fp64 = 7800, .fp64_tensor = 0, .tf32 = 0, .bf16 = 0, .fp16 = 125000, .fp8 = 0, .int8 = 0};
constexpr Peaks kAmpere = {.fp64 = 9700, .fp64_tensor = 19500, .tf32 = 156000, .bf16 = 312000, .fp16 = 312000,
                           .fp8 = 0, .int8 = 624000};
constexpr Peaks kHopper = {.fp64 = 33500, .fp64_tensor = 66900, .tf32 = 494700, .bf16 = 989400, .fp16 = 989400,
                           .fp8 = 1978900, .int8 = 1978900};

// The catalogue: each device is declared here, once, and nowhere else.
// name, aliases, compute capability, SMs, boost MHz, FP32 GFLOP/s, DRAM GB/s, L2, DRAM, further peaks, sources, note
constexpr Device kDevices[] = {
    {"8800 GTX (G80)", {"G80", "8800 GTX"}, 1, 0, 16, 1350, 345.6, 86.4, 0, 768 * kMiB, no_tensor(0),
     {{{"nvidia-8800"}}}, "multiply-add only (518 GFLOP/s with the extra multiply)"},
    {"GTX 280 (GT200)", {"GT200", "GTX 280"}, 1, 3, 30, 1296, 622, 141.7, 0, 1 * kGiB, no_tensor(77.8),
     {{{"nvidia-gtx200"}}}, "multiply-add only (933 GFLOP/s with the extra multiply)"},
    {"C1060", {"Tesla C1060"}, 1, 3, 30, 1296, 622, 102.4, 0, 4 * kGiB, no_tensor(77.8),
     {{{"nvidia-c1060"}}}, "a GT200; multiply-add only (933 GFLOP/s with the extra multiply)"},
    {"GTX 480", {"Fermi"}, 2, 0, 15, 1401, 1345, 177.4, 768 * 1024, 1536 * kMiB, no_tensor(168.1),
     {{{"nvidia-gtx480"}, kOldFp64}}},
    {"GTX 780", {}, 3, 5, 12, 900, 4147, 288.4, 1536 * 1024, 3 * kGiB, no_tensor(172.8),
     {{{"nvidia-gtx780"}, kOldFp64}}},
    {"K20c", {"K20"}, 3, 5, 13, 706, 3520, 208, 1280 * 1024, 5 * kGiB, no_tensor(1170),
     {{{"nvidia-k20"}}}},
    {"K40", {"K40c", "K40m", "K40t"}, 3, 5, 15, 875, 5040, 288, 1536 * 1024, 12 * kGiB, no_tensor(1680),
     {{{"nvidia-k40"}}}, "at the 875 MHz boost clock (4290 GFLOP/s, FP64 1430, at 745 MHz)"},
    {"Quadro K620", {}, 5, 0, 3, 1124, 863, 29, 2 * kMiB, 2 * kGiB, no_tensor(27),
     {{{"nvidia-k620"}, kOldFp64}}},
    {"GTX 980", {"Maxwell", "GM204"}, 5, 2, 16, 1216, 4981, 224, 2 * kMiB, 4 * kGiB, no_tensor(155.6),
     {{{"nvidia-gtx980"}, kOldFp64}}},
    {"GTX 1080", {}, 6, 1, 20, 1733, 8873, 320, 2 * kMiB, 8 * kGiB, no_tensor(277.3),
     {{{"nvidia-gtx1080"}, kOldFp64}}},
    {"P100", {"P100-SXM2-16GB"}, 6, 0, 56, 1480, 10600, 732, 4 * kMiB, 16 * kGiB, no_tensor(5300),
     {{{"nvidia-p100"}}}, "SXM2"},
    {"V100", {"V100 16GB", "V100-SXM2-16GB"}, 7, 0, 80, 1530, 15700, 900, 6 * kMiB, 16 * kGiB, kVolta,
     {{{"nvidia-v100"}}}, "SXM2"},
    {"V100 32GB", {"V100-SXM2-32GB"}, 7, 0, 80, 1530, 15700, 900, 6 * kMiB, 32 * kGiB, kVolta,
     {{{"nvidia-v100"}}}, "SXM2"},
    {"RTX 2080 Ti", {"2080 Ti"}, 7, 5, 68, 1545, 13450, 616, 5632 * 1024, 11 * kGiB,
     {.fp64 = 420.2, .fp64_tensor = 0, .tf32 = 0, .bf16 = 0, .fp16 = 53800, .fp8 = 0, .int8 = 215200},
     {{{"nvidia-turing"}, kNewFp64}}, "reference clocks"},
    {"T4", {}, 7, 5, 40, 1590, 8100, 320, 4 * kMiB, 16 * kGiB,
     {.fp64 = 254.4, .fp64_tensor = 0, .tf32 = 0, .bf16 = 0, .fp16 = 65000, .fp8 = 0, .int8 = 130000},
     {{{"nvidia-t4"}, kNewFp64}}},
    {"RTX 3080", {"3080", "RTX 3080 10GB"}, 8, 6, 68, 1710, 29770, 760, 5 * kMiB, 10 * kGiB,
     {.fp64 = 465.1, .fp64_tensor = 0, .tf32 = 29800, .bf16 = 59500, .fp16 = 59500, .fp8 = 0, .int8 = 238000},
     {{{"nvidia-ga102"}, kNewFp64}}, "10 GB"},
    {"RTX 3090", {"3090"}, 8, 6, 82, 1695, 35580, 936, 6 * kMiB, 24 * kGiB,
     {.fp64 = 556, .fp64_tensor = 0, .tf32 = 35600, .bf16 = 71000, .fp16 = 71000, .fp8 = 0, .int8 = 284000},
     {{{"nvidia-ga102"}, kNewFp64}}},
    {"A100", {"A100 40GB", "A100-SXM4-40GB", "A100-PCIE-40GB"}, 8, 0, 108, 1410, 19500, 1555, 40 * kMiB, 40 * kGiB,
     kAmpere, {{{"nvidia-a100"}}}, "40 GB, as in PMPP"},
    {"A100 80GB", {"A100-SXM4-80GB"}, 8, 0, 108, 1410, 19500, 2039, 40 * kMiB, 80 * kGiB,
     kAmpere, {{{"nvidia-a100"}}}, "80 GB, SXM"},
    {"A100 80GB PCIe", {}, 8, 0, 108, 1410, 19500, 1935, 40 * kMiB, 80 * kGiB,
     kAmpere, {{{"nvidia-a100"}}}, "80 GB, PCIe"},
    {"RTX 4090", {"4090"}, 8, 9, 128, 2520, 82600, 1008, 72 * kMiB, 24 * kGiB,
     {.fp64 = 1290, .fp64_tensor = 0, .tf32 = 82600, .bf16 = 165200, .fp16 = 165200, .fp8 = 330300, .int8 = 660600},
     {{{"nvidia-ada"}, kNewFp64}}},
    {"L40S", {}, 8, 9, 142, 2520, 91600, 864, 96 * kMiB, 48 * kGiB,
     {.fp64 = 1431, .fp64_tensor = 0, .tf32 = 183000, .bf16 = 362050, .fp16 = 362050, .fp8 = 733000, .int8 = 733000},
     {{{"nvidia-l40s"}, kNewFp64}}},
    {"H100 SXM", {"H100", "H100 80GB HBM3", "H100 SXM5"}, 9, 0, 132, 1980, 67000, 3350, 50 * kMiB, 80 * kGiB,
     kHopper, {{{"nvidia-h100"}}}, "tensor peaks at 1830 MHz"},
    {"H100 PCIe", {}, 9, 0, 114, 1755, 51200, 2000, 50 * kMiB, 80 * kGiB,
     {.fp64 = 25600, .fp64_tensor = 51200, .tf32 = 378000, .bf16 = 756000, .fp16 = 756000, .fp8 = 1513000,
      .int8 = 1513000},
     {{{"nvidia-h100"}}}},
    {"H200", {"H200 SXM"}, 9, 0, 132, 1980, 67000, 4800, 60 * kMiB, 141 * kGiB,
     kHopper, {{{"nvidia-h200"}, {"nvidia-h100", "FP64 and tensor peaks: the same SMs and clocks"}}},
     "SXM; L2 as the driver reports it"},
    {"RTX 5090", {"5090"}, 12, 0, 170, 2407, 104800, 1792, 96 * kMiB, 32 * kGiB,
     {.fp64 = 1637, .fp64_tensor = 0, .tf32 = 104800, .bf16 = 209500, .fp16 = 209500, .fp8 = 419000, .int8 = 838000},
     {{{"nvidia-rtx-blackwell"}, kNewFp64}}},
    {"B200", {}, 10, 0, 148, 1965, 75000, 8000, 126 * kMiB, 180 * kGiB,
     {.fp64 = 37000, .fp64_tensor = 37000, .tf32 = 1125000, .bf16 = 2250000, .fp16 = 2250000, .fp8 = 4500000,
      .int8 = 4500000},
     {{{"nvidia-hgx-b200"}, {"nvidia-dgx-b200", "memory"}, {"blackwell-tuning", "L2"}}},
     "one of eight; tensor peaks are halves of the sheet's sparse ones"},
};
// clang-format on

constexpr PeakKind kPeakKinds[] = {
    {"fp32", "FP32", nullptr},
    {"fp64", "FP64", &Peaks::fp64},
    {"fp64_tensor", "FP64 on tensor cores", &Peaks::fp64_tensor},
    {"tf32", "TF32 on tensor cores", &Peaks::tf32},
    {"bf16", "BF16 on tensor cores", &Peaks::bf16},
    {"fp16", "FP16 on tensor cores", &Peaks::fp16},
    {"fp8", "FP8 on tensor cores", &Peaks::fp8},
    {"int8", "INT8 on tensor cores", &Peaks::int8},
};

/// "FP32" and "fp64-tensor" mean fp32 and fp64_tensor.
std::string peak_key(std::string_view name) {
  std::string plain(name);
  for (char& c : plain) c = c == '-' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return plain;
}

/// `name` without what people write differently: "NVIDIA GeForce RTX 3080" and "rtx-3080" both become "rtx3080".
std::string key(std::string_view name) {
  std::string plain;
  for (const char c : name)
    if (std::isalnum(static_cast<unsigned char>(c)))
      plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const std::string_view word : {"nvidia", "geforce", "tesla", "quadro"})
    if (plain.starts_with(word)) plain.erase(0, word.size());
  return plain;
}

bool is_called(const Device& device, std::string_view wanted) {
  return key(device.name) == wanted ||
         std::ranges::any_of(device.aliases, [&](auto alias) { return !alias.empty() && key(alias) == wanted; });
}

/// The name of the device whose name or alias is nearest to `wanted`; empty if none is near.
std::string nearest_device(const std::string& wanted) {
  std::vector<std::string> keys;
  for (const Device& device : kDevices) {
    keys.push_back(key(device.name));
    for (const std::string_view alias : device.aliases)
      if (!alias.empty()) keys.push_back(key(alias));
  }
  const std::string near = nearest(wanted, keys);
  for (const Device& device : kDevices)
    if (!near.empty() && is_called(device, near)) return std::string(device.name);
  return "";
}

}  // namespace

std::span<const Device> devices() { return kDevices; }

std::span<const PeakKind> peak_kinds() { return kPeakKinds; }

const PeakKind& peak_kind(std::string_view name) {
  std::vector<std::string_view> names;
  for (const PeakKind& kind : kPeakKinds) {
    if (kind.name == peak_key(name)) return kind;
    names.push_back(kind.name);
  }
  throw Error(fmt::format("'{}' is not a type with a peak: give one of {}", name, fmt::join(names, ", ")));
}

std::optional<double> peak_gflops(const Device& device, std::string_view kind) {
  const PeakKind& found = peak_kind(kind);
  return found.further ? device.peaks.*found.further : device.peak_fp32_gflops;
}

const Device* match_device(std::string_view cuda_name) {
  const std::string wanted = key(cuda_name);
  if (wanted.empty()) return nullptr;
  for (const Device& device : kDevices)
    if (is_called(device, wanted)) return &device;
  return nullptr;
}

const Device& find_device(std::string_view name) {
  if (const Device* found = match_device(name)) return *found;
  const std::string near = nearest_device(key(name));
  const std::string hint = near.empty() ? "" : "; did you mean '" + near + "'?";
  throw Error("device '" + std::string(name) + "' is not in the catalogue" + hint +
              " (`rung bound --device list` lists them all)");
}

std::vector<std::string> differences(const Device& device, const DriverFacts& driver) {
  std::vector<std::string> found;
  const auto compare = [&](const char* what, double catalogue, double told, double tolerance, const char* unit) {
    if (told > 0 && std::abs(told - catalogue) > tolerance * catalogue)
      found.push_back(
          fmt::format("{}: {:.6g}{} in the catalogue, {:.6g}{} by the driver", what, catalogue, unit, told, unit));
  };
  const auto mib = [](std::size_t bytes) { return static_cast<double>(bytes) / static_cast<double>(kMiB); };
  const SmLimits sm = sm_limits(device.major, device.minor);
  compare("compute capability", device.major + 0.1 * device.minor, driver.major + 0.1 * driver.minor, 1e-6, "");
  compare("SMs", device.sm_count, driver.sm_count, 0, "");
  compare("boost clock", device.boost_mhz, driver.boost_mhz, 0.02, " MHz");
  compare("DRAM bandwidth", device.dram_gbytes_per_s, driver.dram_gbytes_per_s, 0.05, " GB/s");
  compare("DRAM", mib(device.dram_bytes), mib(driver.dram_bytes), 0.1, " MiB");
  compare("L2", mib(device.l2_bytes), mib(driver.l2_bytes), 0, " MiB");
  compare("shared memory of an SM", sm.shared_per_sm, static_cast<double>(driver.shared_per_sm), 0, " B");
  compare("shared memory of a block", sm.shared_per_block_optin, static_cast<double>(driver.shared_per_block_optin), 0,
          " B");
  return found;
}

}  // namespace rung
