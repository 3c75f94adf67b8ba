/// `rung bound`: ratio x bandwidth against the peak, for any device of the catalogue.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/model/bound.hpp"
#include "common/model/devices.hpp"
#include "common/program/commands.hpp"

namespace rung {
namespace {

using Json = nlohmann::ordered_json;

// The naive matrix product and the textbook's 16x16 tiles (PMPP 4e §5.4).
const std::vector<double> kTextbookRatios = {0.25, 4};
// Two ratios keep a line within 80 columns; more of them go into further tables.
constexpr std::size_t kRatiosPerTable = 2;

struct Options {
  std::vector<std::string> names;
  std::vector<double> ratios = kTextbookRatios;
  bool json = false;
};

std::vector<const Device*> chosen(const std::vector<std::string>& names) {
  std::vector<const Device*> list;
  for (const std::string& name : names) list.push_back(&find_device(name));
  if (names.empty())
    for (const Device& device : devices()) list.push_back(&device);
  return list;
}

/// Four significant digits are more than a data sheet holds: one decimal below 1000, none above.
std::string rate(double value) { return value < 999.95 ? fmt::format("{:.1f}", value) : fmt::format("{:.0f}", value); }

std::string rule(std::size_t width) {
  std::string line;
  for (std::size_t i = 0; i < width; ++i) line += "─";
  return line;
}

void print_table(const std::vector<const Device*>& list, const std::vector<double>& ratios) {
  std::string above = fmt::format("{:<15}  {:>4}  {:>6}  {:>7}  {:>5}", "", "", "DRAM", "peak", "ridge");
  std::string head = fmt::format("{:<15}  {:>4}  {:>6}  {:>7}  {:>5}", "device", "cc", "GB/s", "GFLOP/s", "OP/B");
  for (const double ratio : ratios) {
    above += fmt::format("  {:>15}", fmt::format("at {:g} OP/B", ratio));
    head += fmt::format("  {:>7} {:>7}", "GFLOP/s", "of peak");
  }
  fmt::print("{}\n{}\n{}\n", above, head, rule(head.size()));
  for (const Device* d : list) {
    fmt::print("{:<15}  {:>4}  {:>6}  {:>7}  {:>5.1f}", d->name, fmt::format("{}.{}", d->major, d->minor),
               rate(d->dram_gbytes_per_s), rate(d->peak_fp32_gflops),
               ridge_op_per_byte(d->peak_fp32_gflops, d->dram_gbytes_per_s));
    for (const double ratio : ratios) {
      const Bound b = bound(*d, ratio);
      fmt::print("  {:>7} {:>5.1f} %", rate(b.gflops), 100 * b.fraction_of_peak);
    }
    fmt::print("\n");
  }
  fmt::print("\n");
}

void print_tables(const std::vector<const Device*>& list, const std::vector<double>& ratios) {
  fmt::print("Roofline bound by the data sheets: attainable = min(peak, ratio x bandwidth), FP32\n\n");
  for (std::size_t first = 0; first < ratios.size(); first += kRatiosPerTable) {
    const std::size_t last = std::min(first + kRatiosPerTable, ratios.size());
    print_table(list, {ratios.begin() + static_cast<std::ptrdiff_t>(first),
                       ratios.begin() + static_cast<std::ptrdiff_t>(last)});
  }
  if (ratios == kTextbookRatios)
    fmt::print("0.25 OP/B: matrix product with every operand from global memory. 4 OP/B: with 16x16 tiles.\n");
  fmt::print("Below the ridge, memory sets the bound; from the ridge on, the arithmetic units do.\n");
}

Json to_json(const Device& d, const std::vector<double>& ratios) {
  Json bounds = Json::array();
  for (const double ratio : ratios) {
    const Bound b = bound(d, ratio);
    bounds.push_back({{"op_per_byte", ratio},
                      {"gflops", b.gflops},
                      {"fraction_of_peak", b.fraction_of_peak},
                      {"memory_bound", b.memory_bound}});
  }
  return {{"device", d.name},
          {"compute_capability", fmt::format("{}.{}", d.major, d.minor)},
          {"sm_count", d.sm_count},
          {"boost_mhz", d.boost_mhz},
          {"peak_fp32_gflops", d.peak_fp32_gflops},
          {"dram_gbytes_per_s", d.dram_gbytes_per_s},
          {"l2_bytes", d.l2_bytes},
          {"dram_bytes", d.dram_bytes},
          {"ridge_op_per_byte", ridge_op_per_byte(d.peak_fp32_gflops, d.dram_gbytes_per_s)},
          {"bounds", bounds},
          {"source", d.source}};
}

void run(const Options& options) {
  const std::vector<const Device*> list = chosen(options.names);
  // A ratio that makes no sense is refused before half a table is out.
  for (const double ratio : options.ratios) bound(*list.front(), ratio);
  if (!options.json) return print_tables(list, options.ratios);
  Json out = Json::array();
  for (const Device* device : list) out.push_back(to_json(*device, options.ratios));
  fmt::print("{}\n", out.dump(2));
}

}  // namespace

void add_bound_command(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("bound", "What a device can reach at most: ratio x bandwidth against its peak");
  command->add_option("DEVICE", options->names, "Devices of the catalogue, e.g. a100 k40 \"rtx 3080\" (default: all)");
  command->add_option("--ratio", options->ratios, "Operations per byte (default: 0.25 4)");
  command->add_flag("--json", options->json, "Print JSON");
  command->callback([options] { run(*options); });
}

}  // namespace rung
