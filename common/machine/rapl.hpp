/// Energy of the processor and its memory by the running average power limit's counters (RAPL), as Linux shows them
/// in /sys/class/powercap. They count whole packages: what others run there at the time is in it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace rung {

/// The counters advance about once a millisecond; over an interval of 20 of these, one more or less is 5 %.
constexpr double kRaplSeconds = 0.020;

class Rapl {
 public:
  /// Finds the packages and their memory ("package-0", "dram") below `folder`.
  explicit Rapl(const std::filesystem::path& folder = "/sys/class/powercap");

  /// Why there is nothing to read: "no /sys/class/powercap/intel-rapl", "not readable: …"; empty if there is.
  const std::string& unavailable() const { return unavailable_; }
  /// "RAPL package-0, dram".
  std::string source() const;

  /// All counters at this moment, in microjoules; empty if one cannot be read.
  std::vector<std::uint64_t> read() const;
  /// Joules between two readings, of all domains together, if each wrapped around at most once in between;
  /// nothing if one of the readings is empty.
  std::optional<double> joules(const std::vector<std::uint64_t>& before, const std::vector<std::uint64_t>& after) const;

 private:
  struct Domain {
    std::string name;
    std::filesystem::path counter;
    std::uint64_t range = 0;  ///< microjoules, at which the counter starts again from 0
  };
  std::vector<Domain> domains_;
  std::string unavailable_;
};

}  // namespace rung
