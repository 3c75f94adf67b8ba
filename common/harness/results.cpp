#include "common/harness/results.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "common/harness/statistics.hpp"
#include "common/model/devices.hpp"

namespace rung {
namespace {

/// Counters that are the same for every sample of a point.
void add_work(Json& entry, const Point& point) {
  const Params params = point.params();
  entry["flops"] = point.problem->flops(params);
  entry["bytes_min"] = point.problem->bytes_min(params);
  if (!point.kernel->requested) return;
  const Traffic traffic = point.kernel->requested(params);
  entry["bytes_requested"] = traffic.loaded;
  entry["bytes_stored"] = traffic.stored;
  if (traffic.loaded > 0) entry["op_per_byte_requested"] = point.problem->flops(params) / traffic.loaded;
}

void add_occupancy(Json& entry, const PointFacts& facts) {
  if (!facts.launch) return;
  const auto threads = facts.launch->block.count();
  entry["threads_per_block"] = threads;
  entry["blocks"] = facts.launch->grid.count();
  if (!facts.resources || facts.resources->registers_per_thread == 0) return;  // a library's launch is its own
  const auto shared = facts.resources->static_shared_bytes + facts.launch->dynamic_shared_bytes;
  entry["registers_per_thread"] = facts.resources->registers_per_thread;
  entry["shared_bytes_per_block"] = shared;
  entry["local_bytes_per_thread"] = facts.resources->local_bytes;
  entry["blocks_per_sm_cuda"] = facts.resources->blocks_per_sm;
  if (!facts.sm) return;
  const Occupancy model = occupancy(
      *facts.sm,
      {static_cast<std::int64_t>(threads), facts.resources->registers_per_thread, static_cast<std::int64_t>(shared)});
  entry["blocks_per_sm"] = model.blocks_per_sm;
  entry["occupancy_theoretical"] = model.fraction();
  entry["occupancy_limiter"] = model.limiter;
}

void add_state(Json& entry, const DeviceState& state) {
  if (state.clock_mhz) entry["sm_clock_mhz"] = *state.clock_mhz;
  if (state.power_w) entry["power_w"] = *state.power_w;
  entry["throttled"] = state.throttled.empty() ? 0 : 1;
  if (!state.throttled.empty()) entry["throttle_reason"] = state.throttled;
}

/// The median of a measured quantity over the samples of each kernel and label; the best kernel gives the roof.
double best_median(const std::vector<Json>& entries, const std::string& kernel, const std::string& quantity) {
  std::map<std::string, std::vector<double>> by_point;
  for (const Json& entry : entries)
    if (entry.value("kernel", "") == kernel && entry.contains(quantity))
      by_point[entry["name"]].push_back(entry[quantity].get<double>());
  double best = 0;
  for (const auto& [name, values] : by_point) best = std::max(best, median(values));
  return best;
}

}  // namespace

Json point_entry(const Point& point) {
  Json entry{{"name", point.name()}, {"run_name", point.name()}, {"run_type", "iteration"}};
  entry["kernel"] = point.kernel->name;
  entry["mode"] = way_name(point.way);
  for (const auto& [name, value] : point.sizes) entry[name] = value;
  std::string names;
  for (const auto& [name, value] : point.tunables) {
    entry[name] = value;
    names += (names.empty() ? "" : ",") + name;
  }
  entry["tunable_names"] = names;
  if (point.shared_bytes) entry["shared_bytes_added"] = point.shared_bytes;
  return entry;
}

std::vector<Json> sample_entries(const Point& point, const Measurement& measurement, const PointFacts& facts) {
  Json common = point_entry(point);
  common["repetitions"] = measurement.samples.size();
  common["threads"] = 1;
  common["time_unit"] = "ns";
  add_work(common, point);
  add_occupancy(common, facts);
  common["max_error_ratio"] = facts.max_error_ratio;
  if (facts.transfer_seconds) common["transfer_seconds"] = *facts.transfer_seconds;
  common["stop_reason"] = measurement.stop_reason;
  std::vector<Json> entries;
  for (const Sample& sample : measurement.samples) {
    Json entry = common;
    entry["repetition_index"] = entries.size();
    entry["iterations"] = sample.runs;
    entry["real_time"] = sample.seconds * 1e9;
    entry["cpu_time"] = sample.cpu_seconds * 1e9;
    entry["gflops"] = common["flops"].get<double>() / sample.seconds * 1e-9;
    entry["gbytes_per_s"] = common["bytes_min"].get<double>() / sample.seconds * 1e-9;
    add_state(entry, sample.state);
    entries.push_back(std::move(entry));
  }
  return entries;
}

Json skipped_entry(const Point& point, const std::string& reason) {
  Json entry = point_entry(point);
  entry["error_occurred"] = false;
  entry["skipped"] = true;
  entry["skip_message"] = reason;
  return entry;
}

Json failed_entry(const Point& point, const std::string& failure) {
  Json entry = point_entry(point);
  entry["error_occurred"] = true;
  entry["error_message"] = failure;
  return entry;
}

Json kernel_descriptions(const std::vector<Point>& points) {
  Json all = Json::object();
  for (const Point& point : points) {
    const Kernel& kernel = *point.kernel;
    Json& one = all[kernel.name];
    one = {{"title", kernel.title},         {"idea", kernel.idea},
           {"source", kernel.source},       {"order", kernel.order},
           {"side", kernel.side()},         {"family", kernel.family()},
           {"precision", kernel.precision}, {"is_library", kernel.is_library}};
    if (kernel.ceiling)
      one["ceiling"] = {{"label", kernel.ceiling->label}, {"is_bandwidth", kernel.ceiling->is_bandwidth}};
  }
  return all;
}

std::string results_text(const Json& context, const std::vector<Json>& entries) {
  std::string text = "{\"context\": " + context.dump(1) + ",\n\"benchmarks\": [";
  for (const Json& entry : entries) text += (&entry == entries.data() ? "\n" : ",\n") + entry.dump();
  return text + "\n]}\n";
}

Json ceilings(const std::string& side, const Json& context, const std::vector<Json>& entries) {
  Json measured{{"gflops", {{"data", Json::array()}}}, {"gbytes", {{"data", Json::array()}}}};
  bool any = false;
  for (const auto& [name, kernel] : context.at("kernels").items()) {
    if (kernel["side"] != side || !kernel.contains("ceiling")) continue;
    const bool is_bandwidth = kernel["ceiling"]["is_bandwidth"];
    const double best = best_median(entries, name, is_bandwidth ? "gbytes_per_s" : "gflops");
    if (best <= 0) continue;
    any = true;
    measured[is_bandwidth ? "gbytes" : "gflops"]["data"].push_back(Json::array({kernel["ceiling"]["label"], best}));
  }
  if (!any) return nullptr;
  Json spec{{"gflops", {{"data", Json::array()}}}, {"gbytes", {{"data", Json::array()}}}};
  const std::string machine = context.value(side + "_name", "");
  if (const Device* device = side == "gpu" ? match_device(machine) : nullptr) {
    spec["gflops"]["data"].push_back(Json::array({"FP32", device->peak_fp32_gflops}));
    spec["gbytes"]["data"].push_back(Json::array({"DRAM", device->dram_gbytes_per_s}));
  }
  return {{"machine", machine}, {"date", context.value("date", "")}, {"empirical", measured}, {"spec", spec}};
}

}  // namespace rung
