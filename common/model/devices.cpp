#include "common/model/devices.hpp"

#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

#include "common/registry.hpp"

namespace rung {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20, kGiB = std::size_t{1} << 30;

// The catalogue: each device is declared here, once, and nowhere else.
// name, aliases, compute capability, SMs, boost MHz, FP32 GFLOP/s, DRAM GB/s, L2, DRAM, source
// clang-format off
constexpr Device kDevices[] = {
    {"8800 GTX (G80)", {"G80", "8800 GTX"}, 1, 0, 16, 1350, 345.6, 86.4, 0, 768 * kMiB,
     "NVIDIA GeForce 8800 GTX; multiply-add only (518 with the extra multiply)"},
    {"GTX 280 (GT200)", {"GT200", "GTX 280"}, 1, 3, 30, 1296, 622, 141.7, 0, 1 * kGiB,
     "NVIDIA GeForce GTX 280; multiply-add only (933 with the extra multiply)"},
    {"GTX 480", {"Fermi"}, 2, 0, 15, 1401, 1345, 177.4, 768 * 1024, 1536 * kMiB,
     "NVIDIA GeForce GTX 480"},
    {"GTX 780", {}, 3, 5, 12, 900, 4147, 288.4, 1536 * 1024, 3 * kGiB,
     "NVIDIA GeForce GTX 780"},
    {"K20c", {"K20"}, 3, 5, 13, 706, 3520, 208, 1280 * 1024, 5 * kGiB,
     "NVIDIA Tesla K20 board specification"},
    {"K40", {"K40c", "K40m", "K40t"}, 3, 5, 15, 875, 5040, 288, 1536 * 1024, 12 * kGiB,
     "NVIDIA Tesla K40 board specification; at the 875 MHz boost clock (4290 at 745 MHz)"},
    {"Quadro K620", {}, 5, 0, 3, 1124, 863, 29, 2 * kMiB, 2 * kGiB,
     "NVIDIA Quadro K620 data sheet"},
    {"GTX 1080", {}, 6, 1, 20, 1733, 8873, 320, 2 * kMiB, 8 * kGiB,
     "NVIDIA GeForce GTX 1080 whitepaper"},
    {"P100", {"P100-SXM2-16GB"}, 6, 0, 56, 1480, 10600, 732, 4 * kMiB, 16 * kGiB,
     "NVIDIA Tesla P100 data sheet (SXM2)"},
    {"V100", {"V100 16GB", "V100-SXM2-16GB"}, 7, 0, 80, 1530, 15700, 900, 6 * kMiB, 16 * kGiB,
     "NVIDIA V100 data sheet (SXM2)"},
    {"V100 32GB", {"V100-SXM2-32GB"}, 7, 0, 80, 1530, 15700, 900, 6 * kMiB, 32 * kGiB,
     "NVIDIA V100 data sheet (SXM2)"},
    {"RTX 2080 Ti", {"2080 Ti"}, 7, 5, 68, 1545, 13450, 616, 5632 * 1024, 11 * kGiB,
     "NVIDIA Turing whitepaper, reference clocks"},
    {"T4", {}, 7, 5, 40, 1590, 8100, 320, 4 * kMiB, 16 * kGiB,
     "NVIDIA T4 data sheet"},
    {"RTX 3080", {"3080", "RTX 3080 10GB"}, 8, 6, 68, 1710, 29770, 760, 5 * kMiB, 10 * kGiB,
     "NVIDIA Ampere GA102 whitepaper (10 GB)"},
    {"RTX 3090", {"3090"}, 8, 6, 82, 1695, 35580, 936, 6 * kMiB, 24 * kGiB,
     "NVIDIA Ampere GA102 whitepaper"},
    {"A100", {"A100 40GB", "A100-SXM4-40GB", "A100-PCIE-40GB"}, 8, 0, 108, 1410, 19500, 1555, 40 * kMiB, 40 * kGiB,
     "NVIDIA A100 data sheet (40 GB), as in PMPP 4e"},
    {"A100 80GB", {"A100-SXM4-80GB"}, 8, 0, 108, 1410, 19500, 2039, 40 * kMiB, 80 * kGiB,
     "NVIDIA A100 data sheet (80 GB, SXM)"},
    {"A100 80GB PCIe", {}, 8, 0, 108, 1410, 19500, 1935, 40 * kMiB, 80 * kGiB,
     "NVIDIA A100 data sheet (80 GB, PCIe)"},
    {"RTX 4090", {"4090"}, 8, 9, 128, 2520, 82600, 1008, 72 * kMiB, 24 * kGiB,
     "NVIDIA Ada whitepaper"},
    {"L40S", {}, 8, 9, 142, 2520, 91600, 864, 96 * kMiB, 48 * kGiB,
     "NVIDIA L40S data sheet"},
    {"H100 SXM", {"H100", "H100 80GB HBM3", "H100 SXM5"}, 9, 0, 132, 1980, 67000, 3350, 50 * kMiB, 80 * kGiB,
     "NVIDIA H100 data sheet (SXM)"},
    {"H100 PCIe", {}, 9, 0, 114, 1755, 51200, 2000, 50 * kMiB, 80 * kGiB,
     "NVIDIA H100 data sheet (PCIe)"},
    {"H200", {"H200 SXM"}, 9, 0, 132, 1980, 67000, 4800, 60 * kMiB, 141 * kGiB,
     "NVIDIA H200 data sheet (SXM); L2 as the driver reports it"},
    {"RTX 5090", {"5090"}, 12, 0, 170, 2407, 104800, 1792, 96 * kMiB, 32 * kGiB,
     "NVIDIA RTX Blackwell whitepaper"},
    {"B200", {}, 10, 0, 148, 1965, 75000, 8000, 126 * kMiB, 180 * kGiB,
     "NVIDIA DGX B200 data sheet, one of eight; L2 by the Blackwell tuning guide"},
};
// clang-format on

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
  throw Error("device '" + std::string(name) + "' is not in the catalogue" + hint + " (`rung bound` lists them all)");
}

}  // namespace rung
