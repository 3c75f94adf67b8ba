#include "common/program/catalogue.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "common/harness/sources.hpp"
#include "common/json_text.hpp"
#include "common/machine/target.hpp"
#include "common/model/occupancy.hpp"

namespace rung {
namespace {

using Json = nlohmann::ordered_json;

/// The driver's values for GPU 0. Throws NoGpuError.
DriverFacts local_gpu() {
  const GpuTarget gpu = open_gpu(0);
  if (!gpu.target) throw NoGpuError("no GPU: " + gpu.unavailable);
  const nlohmann::json told = gpu.target->context();
  const auto number = [&](const char* key) { return told.value(key, 0.0); };
  // A DDR bus moves two words a clock.
  const double bandwidth = 2e-6 * number("gpu_mem_clock_khz") * number("gpu_mem_bus_width_bits") / 8;
  return {.name = told.value("gpu_name", ""),
          .major = told.value("gpu_compute_capability_major", 0),
          .minor = told.value("gpu_compute_capability_minor", 0),
          .sm_count = told.value("gpu_sm_count", 0),
          .l2_bytes = told.value("gpu_l2_bytes", std::size_t{0}),
          .dram_bytes = told.value("gpu_memory_bytes", std::size_t{0}),
          .boost_mhz = number("gpu_clock_khz") / 1000,
          .dram_gbytes_per_s = bandwidth,
          .shared_per_sm = told.value("gpu_shared_bytes_per_sm", std::size_t{0}),
          .shared_per_block_optin = told.value("gpu_shared_bytes_per_block_optin", std::size_t{0})};
}

/// One line on this machine's GPU, then one for each difference.
std::vector<std::string> local_lines() {
  try {
    const DriverFacts driver = local_gpu();
    const Device* device = match_device(driver.name);
    if (!device)
      return {fmt::format("This machine's GPU, {} (cc {}.{}), is not in the catalogue.", driver.name, driver.major,
                          driver.minor)};
    std::vector<std::string> lines = differences(*device, driver);
    lines.insert(lines.begin(),
                 fmt::format("This machine's GPU, {}, is the catalogue's {}{}", driver.name, device->name,
                             lines.empty() ? "; the driver agrees with the entry." : ", but:"));
    return lines;
  } catch (const NoGpuError& error) {
    return {fmt::format("This machine: {}.", error.what())};
  }
}

const Device& local_device() {
  const DriverFacts driver = local_gpu();
  const Device* device = match_device(driver.name);
  if (!device)
    throw Error(fmt::format("this machine's GPU, {}, is not in the catalogue (`rung occupancy --cc {}.{}` has its SM)",
                            driver.name, driver.major, driver.minor));
  for (const std::string& line : differences(*device, driver))
    fmt::print(stderr, "rung: {} differs from its entry: {}\n", driver.name, line);
  return *device;
}

std::string sources_text(const Device& device) {
  std::string text;
  for (const Reference& source : device.sources)
    if (!source.id.empty())
      text += (text.empty() ? "" : "; ") + cited({.id = std::string(source.id), .where = std::string(source.what)});
  return text;
}

Json peak_json(const std::optional<double>& gflops) { return gflops ? Json(*gflops) : Json(); }

Json to_json(const Device& d) {
  Json peaks;
  for (const PeakKind& kind : peak_kinds()) peaks[std::string(kind.name)] = peak_json(peak_gflops(d, kind.name));
  const SmLimits sm = sm_limits(d.major, d.minor);
  Json aliases = Json::array();
  for (const std::string_view alias : d.aliases)
    if (!alias.empty()) aliases.push_back(alias);
  return {{"device", d.name},
          {"aliases", aliases},
          {"compute_capability", fmt::format("{}.{}", d.major, d.minor)},
          {"sm_count", d.sm_count},
          {"boost_mhz", d.boost_mhz},
          {"dram_gbytes_per_s", d.dram_gbytes_per_s},
          {"dram_bytes", d.dram_bytes},
          {"l2_bytes", d.l2_bytes},
          {"peak_gflops", peaks},
          {"sm",
           {{"threads", sm.threads_per_sm},
            {"blocks", sm.blocks_per_sm},
            {"fp32_units", sm.fp32_units},
            {"registers", sm.registers_per_sm},
            {"shared_bytes", sm.shared_per_sm},
            {"threads_per_block", sm.threads_per_block},
            {"shared_bytes_per_block", sm.shared_per_block_optin}}},
          {"sources", sources_text(d)},
          {"note", d.note}};
}

void print_json() {
  Json all = Json::array();
  for (const Device& device : devices()) all.push_back(to_json(device));
  fmt::print("{}\n", json_text(Json{{"devices", all}, {"this_machine", local_lines()}}, 2));
}

void print_limits_table() {
  fmt::print("{:<15} {:>4} {:>4} {:>5} {:>6} {:>6} {:>6}  {:>7} {:>6} {:>6} {:>6}\n", "", "", "", "boost", "DRAM",
             "DRAM", "L2", "an SM:", "", "regis-", "shared");
  fmt::print("{:<15} {:>4} {:>4} {:>5} {:>6} {:>6} {:>6}  {:>7} {:>6} {:>6} {:>6}\n", "device", "cc", "SMs", "MHz",
             "GB/s", "GiB", "MiB", "threads", "blocks", "ters", "KiB");
  for (const Device& d : devices()) {
    const SmLimits sm = sm_limits(d.major, d.minor);
    fmt::print("{:<15} {:>4} {:>4} {:>5.0f} {:>6} {:>6.3g} {:>6.3g}  {:>7} {:>6} {:>6} {:>6}\n", d.name,
               fmt::format("{}.{}", d.major, d.minor), d.sm_count, d.boost_mhz, rate_text(d.dram_gbytes_per_s),
               static_cast<double>(d.dram_bytes) / (1 << 30), static_cast<double>(d.l2_bytes) / (1 << 20),
               sm.threads_per_sm, sm.blocks_per_sm, sm.registers_per_sm, sm.shared_per_sm / 1024);
  }
}

void print_peaks_table() {
  fmt::print("\nPeaks in GFLOP/s (int8: Gop/s), tensor units dense and with sums of 32 bits\n\n{:<15}", "device");
  for (const PeakKind& kind : peak_kinds()) fmt::print(" {:>{}}", kind.name, kind.name == "fp64_tensor" ? 11 : 8);
  fmt::print("\n");
  for (const Device& d : devices()) {
    fmt::print("{:<15}", d.name);
    for (const PeakKind& kind : peak_kinds())
      fmt::print(" {:>{}}", peak_text(peak_gflops(d, kind.name)), kind.name == "fp64_tensor" ? 11 : 8);
    fmt::print("\n");
  }
}

}  // namespace

std::vector<const Device*> chosen_devices(const std::vector<std::string>& names) {
  std::vector<const Device*> list;
  for (const std::string& name : names) list.push_back(name == "local" ? &local_device() : &find_device(name));
  if (names.empty())
    for (const Device& device : devices()) list.push_back(&device);
  return list;
}

bool asks_for_list(const std::vector<std::string>& names) { return names.size() == 1 && names.front() == "list"; }

void print_catalogue(bool json) {
  if (json) return print_json();
  print_limits_table();
  print_peaks_table();
  fmt::print("\nSources\n\n");
  for (const Device& d : devices())
    fmt::print("{:<15} {}{}\n", d.name, sources_text(d), d.note.empty() ? "" : fmt::format(" ({})", d.note));
  fmt::print(
      "\nLimits of an SM: NVIDIA, CUDA C++ Programming Guide, technical specifications per compute capability.\n");
  for (const std::string& line : local_lines()) fmt::print("{}\n", line);
}

std::string peak_text(const std::optional<double>& gflops) {
  return !gflops ? "unknown" : *gflops == 0 ? "none" : rate_text(*gflops);
}

std::string rate_text(double value) {
  return value < 999.95 ? fmt::format("{:.1f}", value) : fmt::format("{:.0f}", value);
}

}  // namespace rung
