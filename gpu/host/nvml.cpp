/// NVML through dlopen: the library comes with the driver, its header only with some toolkits. So the few functions and
/// constants that are needed are declared here, as in NVIDIA's NVML API reference.
#include "gpu/host/nvml.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

namespace rung {
namespace {

constexpr int kSuccess = 0;

/// nvmlProcessUtilizationSample_t
struct ProcessUse {
  unsigned process;
  unsigned long long time;
  unsigned multiprocessors, memory, encoder, decoder;
};

}  // namespace

struct Nvml::Library {
  void* handle = nullptr;
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*device_by_bus_id)(const char*, void**) = nullptr;
  int (*power_limit)(void*, unsigned*) = nullptr;
  int (*energy)(void*, unsigned long long*) = nullptr;
  int (*reasons)(void*, unsigned long long*) = nullptr;
  int (*link_generation)(void*, unsigned*) = nullptr;
  int (*link_width)(void*, unsigned*) = nullptr;
  int (*driver_version)(char*, unsigned) = nullptr;
  int (*process_use)(void*, ProcessUse*, unsigned*, unsigned long long) = nullptr;

  template <typename Function>
  void find(Function& function, const char* name) {
    if (!function) function = reinterpret_cast<Function>(dlsym(handle, name));
  }

  bool open() {
    handle = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!handle) return false;
    find(init, "nvmlInit_v2");
    find(shutdown, "nvmlShutdown");
    find(device_by_bus_id, "nvmlDeviceGetHandleByPciBusId_v2");
    find(power_limit, "nvmlDeviceGetEnforcedPowerLimit");
    find(energy, "nvmlDeviceGetTotalEnergyConsumption");
    find(reasons, "nvmlDeviceGetCurrentClocksEventReasons");
    find(reasons, "nvmlDeviceGetCurrentClocksThrottleReasons");  // its name before driver 535
    find(link_generation, "nvmlDeviceGetMaxPcieLinkGeneration");
    find(link_width, "nvmlDeviceGetMaxPcieLinkWidth");
    find(driver_version, "nvmlSystemGetDriverVersion");
    find(process_use, "nvmlDeviceGetProcessUtilization");
    return init && shutdown && init() == kSuccess;
  }
};

Nvml::Nvml(const std::string& pci_bus_id) : library_(new Library) {
  if (!library_->open()) {
    if (library_->handle) dlclose(library_->handle);
    delete std::exchange(library_, nullptr);
    return;
  }
  if (!library_->device_by_bus_id || library_->device_by_bus_id(pci_bus_id.c_str(), &device_) != kSuccess)
    device_ = nullptr;
}

Nvml::~Nvml() {
  if (!library_) return;
  library_->shutdown();
  dlclose(library_->handle);
  delete library_;
}

std::string Nvml::throttled() const {
  unsigned long long mask = 0;
  if (!device_ || !library_->reasons || library_->reasons(device_, &mask) != kSuccess) return "";
  return throttle_reasons(mask);
}

std::optional<double> Nvml::power_limit_w() const {
  unsigned milliwatts = 0;
  if (!device_ || !library_->power_limit || library_->power_limit(device_, &milliwatts) != kSuccess)
    return std::nullopt;
  return milliwatts / 1000.0;
}

std::optional<double> Nvml::joules() const {
  unsigned long long millijoules = 0;
  if (!device_ || !library_->energy || library_->energy(device_, &millijoules) != kSuccess) return std::nullopt;
  return static_cast<double>(millijoules) / 1000;
}

std::optional<PcieLink> Nvml::pcie_link() const {
  PcieLink link;
  if (!device_ || !library_->link_generation || !library_->link_width) return std::nullopt;
  if (library_->link_generation(device_, &link.generation) != kSuccess) return std::nullopt;
  if (library_->link_width(device_, &link.lanes) != kSuccess) return std::nullopt;
  return link.generation > 0 && link.lanes > 0 ? std::optional(link) : std::nullopt;
}

std::optional<double> Nvml::others_share(unsigned own) {
  unsigned count = 0;
  if (!device_ || !library_->process_use) return std::nullopt;
  library_->process_use(device_, nullptr, &count, seen_);  // sets `count` to the number of records
  std::vector<ProcessUse> records(count);
  if (count == 0 || library_->process_use(device_, records.data(), &count, seen_) != kSuccess) return std::nullopt;
  const bool is_first = seen_ == 0;
  std::vector<std::pair<unsigned, unsigned>> use;
  for (const ProcessUse& record : records) {
    if (record.time <= seen_ || use.size() >= count) continue;
    use.emplace_back(record.process, record.multiprocessors);
  }
  for (const ProcessUse& record : records) seen_ = std::max(seen_, record.time);
  if (is_first) return std::nullopt;
  return share_of_others(use, own);
}

std::string Nvml::driver_version() const {
  char text[96] = {};
  if (!library_ || !library_->driver_version || library_->driver_version(text, sizeof text) != kSuccess) return "";
  return text;
}

double pcie_gbytes_per_s(const PcieLink& link) {
  // GT/s per lane times the share of data bits in the line code: 8 of 10, from 3.0 on 128 of 130. From 6.0 on 236 of a
  // unit's 256 bytes carry data.
  constexpr double kLane[] = {
      0, 2.5 * 8 / 10, 5.0 * 8 / 10, 8.0 * 128 / 130, 16.0 * 128 / 130, 32.0 * 128 / 130, 64.0 * 236 / 256};
  return link.generation < std::size(kLane) ? kLane[link.generation] / 8 * link.lanes : 0;
}

std::optional<double> share_of_others(const std::vector<std::pair<unsigned, unsigned>>& use, unsigned own) {
  std::map<unsigned, std::pair<double, int>> sums;
  for (const auto& [process, per_cent] : use) {
    sums[process].first += per_cent;
    ++sums[process].second;
  }
  if (!sums.contains(own)) return std::nullopt;
  double share = 0;
  for (const auto& [process, sum] : sums)
    if (process != own) share += sum.first / sum.second / 100;
  return share;
}

std::string throttle_reasons(unsigned long long mask) {
  constexpr std::pair<unsigned long long, const char*> kReasons[] = {
      {0x04, "power cap"}, {0x08, "hardware slowdown"},    {0x10, "sync boost"},
      {0x20, "thermal"},   {0x40, "thermal, by hardware"}, {0x80, "power brake"},
  };
  std::string words;
  for (const auto& [bit, word] : kReasons)
    if (mask & bit) words += (words.empty() ? "" : ", ") + std::string(word);
  return words;
}

}  // namespace rung
