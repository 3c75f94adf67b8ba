/// Source: Linux, Documentation/power/powercap/powercap.rst and Documentation/ABI/testing/sysfs-class-powercap.
#include "common/machine/rapl.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>

namespace rung {
namespace {

std::optional<std::uint64_t> number_in(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::uint64_t value = 0;
  if (file >> value) return value;
  return std::nullopt;
}

std::string word_in(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string word;
  file >> word;
  return word;
}

/// A package with all that is in it, or its memory, which is not part of that. "core" and "uncore" are.
bool is_wanted(const std::string& domain) { return domain.starts_with("package-") || domain == "dram"; }

}  // namespace

Rapl::Rapl(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> zones;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(folder, none))
    if (entry.path().filename().string().starts_with("intel-rapl:")) zones.push_back(entry.path());
  std::sort(zones.begin(), zones.end());
  unavailable_ = "no " + (folder / "intel-rapl").string();
  for (const auto& zone : zones) {
    const std::string name = word_in(zone / "name");
    if (!is_wanted(name)) continue;
    errno = 0;
    const auto range = number_in(zone / "max_energy_range_uj");
    if (!number_in(zone / "energy_uj") || !range || *range == 0) {
      const std::string why = errno ? std::strerror(errno) : "no number in it";
      unavailable_ = "not readable: " + (zone / "energy_uj").string() + ": " + why;
      domains_.clear();
      return;
    }
    domains_.push_back({name, zone / "energy_uj", *range});
  }
  if (!domains_.empty()) unavailable_.clear();
}

std::string Rapl::source() const {
  std::string names;
  for (const Domain& domain : domains_) names += (names.empty() ? "RAPL " : ", ") + domain.name;
  return names;
}

std::vector<std::uint64_t> Rapl::read() const {
  std::vector<std::uint64_t> values;
  for (const Domain& domain : domains_) {
    const auto value = number_in(domain.counter);
    if (!value) return {};
    values.push_back(*value);
  }
  return values;
}

std::optional<double> Rapl::joules(const std::vector<std::uint64_t>& before,
                                   const std::vector<std::uint64_t>& after) const {
  if (domains_.empty() || before.size() != domains_.size() || after.size() != domains_.size()) return std::nullopt;
  std::uint64_t microjoules = 0;
  for (std::size_t i = 0; i < domains_.size(); ++i)
    microjoules += after[i] - before[i] + (after[i] < before[i] ? domains_[i].range : 0);
  return static_cast<double>(microjoules) * 1e-6;
}

}  // namespace rung
