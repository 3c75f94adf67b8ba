/// What the driver's management library reports about a GPU at work: energy, power limit, reasons for a lowered clock.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rung {

/// The link to the host: the most that both the GPU and its slot support.
struct PcieLink {
  unsigned generation = 0, lanes = 0;
};

/// GB/s in each direction, after the line code and before the packets' headers; 0 for an unknown generation.
double pcie_gbytes_per_s(const PcieLink& link);

/// One GPU as NVML sees it. The library is opened at run time and nothing here fails: where it or one of its answers is
/// missing (a container without it, an old driver, no permission), that value stays absent.
class Nvml {
 public:
  /// `pci_bus_id` as CUDA returns it ("0000:3b:00.0"): NVML counts GPUs that CUDA_VISIBLE_DEVICES hides, too.
  explicit Nvml(const std::string& pci_bus_id);
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  /// The reasons for a lowered clock at this moment; see throttle_reasons().
  std::string throttled() const;
  /// Watts above which the driver lowers the clocks.
  std::optional<double> power_limit_w() const;
  /// Joules that the board has taken since the driver was loaded; absent before Volta. An H200 advances it every 100
  /// ms.
  std::optional<double> joules() const;
  /// The link at its fastest: an idle GPU slows it down. Absent where it is not reported, as in some virtual machines.
  std::optional<PcieLink> pcie_link() const;
  /// The share of this GPU's time that processes other than `own` used since the last call. Absent at the first call,
  /// where the driver's records are of earlier processes, where the driver has none, and where it does not have this
  /// process's number (in a container it may differ).
  std::optional<double> others_share(unsigned own);
  /// The driver's version, e.g. "580.65.06"; empty if it is not reported.
  std::string driver_version() const;

 private:
  struct Library;
  Library* library_ = nullptr;
  void* device_ = nullptr;
  unsigned long long seen_ = 0;  ///< the time of the last record of use, in the driver's microseconds
};

/// `use`: pairs of a process and its per cent of the GPU's time, several per process. Returns the means of all
/// processes except `own`, added up, as a share; nothing where `own` has no record.
std::optional<double> share_of_others(const std::vector<std::pair<unsigned, unsigned>>& use, unsigned own);

/// The reasons in NVML's bit mask that lower the clock during work, in words: "power cap, thermal". Being idle and a
/// user's own clock settings are not among them.
std::string throttle_reasons(unsigned long long mask);

}  // namespace rung
