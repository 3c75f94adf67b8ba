/// `rung bound`: ratio x bandwidth against the peak, for any device of the catalogue.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "common/json_text.hpp"
#include "common/model/bound.hpp"
#include "common/model/devices.hpp"
#include "common/program/catalogue.hpp"
#include "common/program/commands.hpp"
#include "common/program/quantity.hpp"

namespace rung {
namespace {

using Json = nlohmann::ordered_json;

// The naive matrix product and the textbook's 16x16 tiles (PMPP 4e §5.4).
const std::vector<double> kTextbookRatios = {0.25, 4};
// Two ratios keep a line within 80 columns; more of them go into further tables.
constexpr std::size_t kRatiosPerTable = 2;

struct Options {
  std::vector<std::string> names, kinds = {"fp32"}, ratio_texts;
  std::vector<double> ratios = kTextbookRatios;
  bool json = false;
};

/// A line of the table: a device and one of its peaks.
struct Subject {
  const Device* device;
  PeakKind kind;
  std::optional<double> peak;  ///< GFLOP/s; 0: no such units

  bool has_bound() const { return peak && *peak > 0; }
  Bound at(double ratio) const { return bound(*peak, device->dram_gbytes_per_s, ratio); }
  double ridge() const { return ridge_op_per_byte(*peak, device->dram_gbytes_per_s); }
};

/// By device, then peak. "all": those that a device has.
std::vector<Subject> subjects(const Options& options) {
  const bool all = options.kinds == std::vector<std::string>{"all"};
  if (!all)
    for (const std::string& kind : options.kinds) peak_kind(kind);  // refused before a device is looked for
  std::vector<Subject> list;
  for (const Device* device : chosen_devices(options.names)) {
    if (all) {
      for (const PeakKind& kind : peak_kinds())
        if (const Subject subject{device, kind, peak_gflops(*device, kind.name)}; subject.peak != 0.0)
          list.push_back(subject);
    } else {
      for (const std::string& kind : options.kinds)
        list.push_back({device, peak_kind(kind), peak_gflops(*device, kind)});
    }
  }
  return list;
}

std::string rule(std::size_t width) {
  std::string line;
  for (std::size_t i = 0; i < width; ++i) line += "─";
  return line;
}

void print_table(const std::vector<Subject>& list, const std::vector<double>& ratios) {
  std::string above = fmt::format("{:<15}  {:<11} {:>6}  {:>7}  {:>6}", "", "", "DRAM", "peak", "ridge");
  std::string head = fmt::format("{:<15}  {:<11} {:>6}  {:>7}  {:>6}", "device", "type", "GB/s", "GFLOP/s", "OP/B");
  for (const double ratio : ratios) {
    above += fmt::format("  {:>15}", fmt::format("at {:g} OP/B", ratio));
    head += fmt::format("  {:>7} {:>7}", "GFLOP/s", "of peak");
  }
  fmt::print("{}\n{}\n{}\n", above, head, rule(head.size()));
  for (const Subject& s : list) {
    fmt::print("{:<15}  {:<11} {:>6}  {:>7}  {:>6}", s.device->name, s.kind.name,
               rate_text(s.device->dram_gbytes_per_s), peak_text(s.peak),
               s.has_bound() ? fmt::format("{:.1f}", s.ridge()) : "");
    for (const double ratio : ratios)
      if (s.has_bound())
        fmt::print("  {:>7} {:>5.1f} %", rate_text(s.at(ratio).gflops), 100 * s.at(ratio).fraction_of_peak);
    fmt::print("\n");
  }
  fmt::print("\n");
}

void print_tables(const std::vector<Subject>& list, const std::vector<double>& ratios) {
  fmt::print("Roofline bound by the data sheets: attainable = min(peak, ratio x bandwidth)\n\n");
  for (std::size_t first = 0; first < ratios.size(); first += kRatiosPerTable) {
    const std::size_t last = std::min(first + kRatiosPerTable, ratios.size());
    print_table(list, {ratios.begin() + static_cast<std::ptrdiff_t>(first),
                       ratios.begin() + static_cast<std::ptrdiff_t>(last)});
  }
  if (ratios == kTextbookRatios)
    fmt::print("0.25 OP/B: FP32 matrix product with every operand from global memory. 4 OP/B: with 16x16 tiles.\n");
  fmt::print("Ridge: the OP/B that the peak needs. Below it memory sets the bound, from it on the arithmetic units.\n");
}

Json to_json(const Subject& s, const std::vector<double>& ratios) {
  Json bounds = Json::array();
  for (const double ratio : ratios) {
    if (!s.has_bound()) break;
    const Bound b = s.at(ratio);
    bounds.push_back({{"op_per_byte", ratio},
                      {"gflops", b.gflops},
                      {"fraction_of_peak", b.fraction_of_peak},
                      {"memory_bound", b.memory_bound}});
  }
  return {{"device", s.device->name},
          {"compute_capability", fmt::format("{}.{}", s.device->major, s.device->minor)},
          {"type", s.kind.name},
          {"peak_gflops", s.peak ? Json(*s.peak) : Json()},
          {"dram_gbytes_per_s", s.device->dram_gbytes_per_s},
          {"ridge_op_per_byte", s.has_bound() ? Json(s.ridge()) : Json()},
          {"bounds", bounds}};
}

void run(Options& options) {
  if (asks_for_list(options.names)) return print_catalogue(options.json);
  if (!options.ratio_texts.empty()) options.ratios.clear();
  for (const std::string& text : options.ratio_texts) options.ratios.push_back(parse_ratio(text));
  const std::vector<Subject> list = subjects(options);
  if (!options.json) return print_tables(list, options.ratios);
  Json out = Json::array();
  for (const Subject& subject : list) out.push_back(to_json(subject, options.ratios));
  fmt::print("{}\n", json_text(out, 2));
}

void add(Command program) {
  auto options = std::make_shared<Options>();
  Command command =
      program.add_subcommand("bound", "What a device can reach at most: ratio x bandwidth against its peak");
  command.add_option(
      "DEVICE,--device", options->names,
      "Devices of the catalogue, e.g. a100 k40 \"rtx 3080\", \"local\" for this machine's GPU, or \"list\" "
      "for the catalogue itself (default: all)");
  command.add_option("--type", options->kinds,
                     "fp32 (default), fp64, fp64_tensor, tf32, bf16, fp16, fp8, int8, or all");
  command.add_option("--ratio", options->ratio_texts, "Operations per byte, as 4 or 4OP/B (default: 0.25 4)");
  command.add_flag("--json", options->json, "Print JSON");
  command.callback([options] { run(*options); });
}

const bool added = add_command({.order = 70, .add = add, .is_calculator = true});

}  // namespace
}  // namespace rung
