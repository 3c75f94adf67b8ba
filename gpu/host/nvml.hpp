/// What the driver's management library reports of a GPU at work: energy, power limit, why the clock is held back.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rung {

/// The link to the host: the most that the GPU and its slot can have together.
struct PcieLink {
  unsigned generation = 0, lanes = 0;
};

/// GB/s each way, after the line code and before the packets' headers; 0 for a generation that is not known.
double pcie_gbytes_per_s(const PcieLink& link);

/// One GPU as NVML sees it. The library is opened at run time and nothing here fails: where it or one of its answers is
/// missing (a container without it, an old driver, no permission), that value stays absent.
class Nvml {
 public:
  /// `pci_bus_id` as CUDA tells it ("0000:3b:00.0"): NVML counts GPUs that CUDA_VISIBLE_DEVICES hides, too.
  explicit Nvml(const std::string& pci_bus_id);
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  /// The reasons for a held-back clock at this moment; see throttle_reasons().
  std::string throttled() const;
  /// Watts above which the driver lowers the clocks.
  std::optional<double> power_limit_w() const;
  /// Joules that the board has taken since the driver was loaded; absent before Volta. An H200 advances it every 100
  /// ms.
  std::optional<double> joules() const;
  /// The fastest that the link gets: an idle GPU slows it down. Absent where it is not told, as to some virtual
  /// machines.
  std::optional<PcieLink> pcie_link() const;
  /// The share of this GPU's time that processes other than `own` used since the last call. Absent at the first one,
  /// where the driver's records are of earlier processes, where the driver has none, and where it does not have this
  /// process's number (in a container it may be another one).
  std::optional<double> others_share(unsigned own);
  /// The driver's version, e.g. "580.65.06"; empty if it is not told.
  std::string driver_version() const;

 private:
  struct Library;
  Library* library_ = nullptr;
  void* device_ = nullptr;
  unsigned long long seen_ = 0;  ///< the time of the last record of use, in the driver's microseconds
};

/// Of (process, per cent of the GPU's time), some records a process: the mean of each process but `own`, added up, as a
/// share; nothing where `own` has no record.
std::optional<double> share_of_others(const std::vector<std::pair<unsigned, unsigned>>& use, unsigned own);

/// The reasons in NVML's bit mask, in words, that hold a clock below what the work could have: "power cap, thermal".
/// Being idle and a user's own clock settings are not among them.
std::string throttle_reasons(unsigned long long mask);

}  // namespace rung
