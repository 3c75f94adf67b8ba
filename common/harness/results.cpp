#include "common/harness/results.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "common/harness/statistics.hpp"
#include "common/json_text.hpp"
#include "common/machine/cpu_info.hpp"
#include "common/model/devices.hpp"

namespace rung {
namespace {

/// Counters that are the same for every sample of a point.
void add_work(Json& entry, const Point& point) {
  const Params params = point.params();
  entry["flops_useful"] = point.problem->flops(params);
  entry["bytes_min"] = point.problem->compulsory_bytes(params);
  if (point.kernel->cpu.level_traffic) {
    const UseThreads threads(point.threads);
    const LevelTraffic bytes = point.kernel->cpu.level_traffic(params);
    entry["bytes_l1_model"] = bytes.l1;
    entry["bytes_l2_model"] = bytes.l2;
    entry["bytes_l3_model"] = bytes.l3;
    entry["bytes_dram_model"] = bytes.dram;
  }
  add_declared(entry, point);
}

/// The rates of one sample.
void add_rates(Json& entry, const Point& point, double seconds) {
  const auto rate = [&](double amount) { return amount / seconds * 1e-9; };
  if (const double flops = entry["flops_useful"]; flops > 0) entry["gflops"] = rate(flops);
  entry["gbytes_per_s"] = rate(entry["bytes_min"]);
  if (point.problem->metric.amount)
    entry[point.problem->metric.key] = rate(point.problem->metric.amount(point.params()));
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
  const Occupancy model = occupancy(*facts.sm, {.threads = static_cast<std::int64_t>(threads),
                                                .registers_per_thread = facts.resources->registers_per_thread,
                                                .shared_bytes = static_cast<std::int64_t>(shared),
                                                .z = facts.launch->block.z});
  entry["blocks_per_sm"] = model.blocks_per_sm;
  entry["occupancy_theoretical"] = model.fraction();
  entry["occupancy_limiter"] = model.limiter;
}

void add_state(Json& entry, const DeviceState& state) {
  if (state.clock_mhz) entry["sm_clock_mhz"] = *state.clock_mhz;
  entry["throttled"] = state.throttled.empty() ? 0 : 1;
  if (!state.throttled.empty()) entry["throttle_reason"] = state.throttled;
}

/// What other work did to a sample's interval.
void add_disturbance(Json& entry, const Disturbance& found) {
  const auto add = [&](const char* key, const auto& value) {
    if (value) entry[key] = *value;
  };
  add("waited_seconds", found.waited);
  add("involuntary_switches", found.switches);
  add("stolen_seconds", found.stolen);
  add("others_processors", found.others);
  add("threads_ran", found.threads);
  add("gpu_others_share", found.device_others);
  if (found.seconds > 0) entry["watched_seconds"] = found.seconds;
  if (found.is_one()) entry["disturbed"] = true;
}

/// Of the interval itself where it was long enough for the counters, else of a row of runs after the samples.
void add_energy(Json& entry, const Sample& sample, const std::optional<EnergyBatch>& batch) {
  if (sample.energy_j) {
    entry["energy_j"] = *sample.energy_j;
    entry["power_w"] = *sample.energy_j / sample.seconds;
  } else if (batch) {
    entry["energy_j"] = batch->energy_j;
    entry["power_w"] = batch->power_w;
    entry["energy_runs"] = batch->runs;
    if (batch->clock_mhz) entry["energy_clock_mhz"] = *batch->clock_mhz;
  }
}

/// The median of a measured quantity over the samples of each of a kernel's points that has `threads` threads, or any
/// number if that is 0: the best one. 0 if there is none.
double best_median(const std::vector<Json>& entries, const std::string& kernel, const std::string& quantity,
                   int threads) {
  std::map<std::string, std::vector<double>> by_point;
  for (const Json& entry : entries)
    if (entry.value("kernel", "") == kernel && entry.contains(quantity) && counts(entry) &&
        (threads == 0 || entry.value("threads", 0) == threads))
      by_point[entry["name"].get<std::string>() + std::to_string(entry.value("remeasured", 0))].push_back(
          entry[quantity].get<double>());
  double best = 0;
  for (const auto& [name, values] : by_point) best = std::max(best, median(values));
  return best;
}

/// When the copies and launches ran, of one run that is none of the samples, so that one entry of the point has it.
Json timeline_json(const std::vector<Span>& timeline) {
  Json spans = Json::array();
  for (const auto& [what, stream, begin, end] : timeline)
    spans.push_back({{"what", what}, {"stream", stream}, {"begin", begin}, {"end", end}});
  return spans;
}

}  // namespace

bool counts(const Json& entry) {
  return !entry.value("disturbed", false) || entry.value("stop_reason", "") == "disturbed";
}

Json to_json(const Params& params) {
  Json table = Json::object();
  for (const auto& [name, value] : params) {
    if (value.word.empty())
      table[name] = value.number;
    else
      table[name] = value.word;
  }
  return table;
}

void add_declared(Json& entry, const Point& point) {
  if (!point.kernel->gpu.requested) return;
  const Params params = point.params();
  const Traffic traffic = point.kernel->gpu.requested(params);
  entry["bytes_declared_loaded"] = traffic.loaded;
  entry["bytes_declared_stored"] = traffic.stored;
  if (traffic.loaded > 0) entry["op_per_byte_declared"] = point.problem->flops(params) / traffic.loaded;
}

Json point_entry(const Point& point) {
  Json entry{{"name", point.name()}, {"run_name", point.name()}, {"run_type", "iteration"}};
  entry["kernel"] = point.kernel->name;
  entry["mode"] = way_name(point.way);
  entry["data"] = point.data->name;
  entry["sizes"] = to_json(point.sizes);
  entry["tunables"] = to_json(point.tunables);
  if (const ErrorBound& bound = point.kernel->error_bound; bound != ErrorBound{}) {
    entry["error_factor"] = bound.factor;
    entry["error_by_norm"] = bound.by_norm;
  }
  if (point.shared_bytes) entry["shared_bytes_added"] = point.shared_bytes;
  if (point.threads > 0) entry["threads"] = point.threads;
  if (point.is_oversubscribed()) entry["oversubscribed"] = true;
  return entry;
}

std::vector<Json> sample_entries(const Point& point, const Measurement& measurement, const PointFacts& facts) {
  Json common = point_entry(point);
  common["repetitions"] = measurement.samples.size();
  if (point.threads == 0) common["threads"] = 1;  // Google Benchmark's: the host's that launches
  common["time_unit"] = "ns";
  add_work(common, point);
  add_occupancy(common, facts);
  common["max_error_ratio"] = facts.max_error_ratio;
  if (!facts.judged.empty()) common["judged"] = facts.judged;
  if (point.kernel->reset) common["reset_seconds"] = facts.reset_seconds;
  if (facts.transfer_seconds) common["transfer_seconds"] = *facts.transfer_seconds;
  common["stop_reason"] = measurement.stop_reason;
  if (facts.interleaved_with > 0) common["interleaved_with"] = facts.interleaved_with;
  if (facts.interleaved_with > 0) common["interleave_group"] = facts.group;
  if (point.effort.warm_up > 0) common["warm_up_seconds"] = point.effort.warm_up;
  if (facts.interleaved_with > 0 && point.effort.ratio_within > 0) common["ratio_within"] = point.effort.ratio_within;
  if (!facts.not_interleaved.empty()) common["not_interleaved"] = facts.not_interleaved;
  for (const auto& [key, value] : measurement.events) common[key] = value;
  std::vector<Json> entries;
  for (const Sample& sample : measurement.samples) {
    Json entry = common;
    entry["repetition_index"] = entries.size();
    entry["iterations"] = sample.runs;
    entry["real_time"] = sample.seconds * 1e9;
    entry["cpu_time"] = sample.cpu_seconds * 1e9;
    add_rates(entry, point, sample.seconds);
    add_state(entry, sample.state);
    add_energy(entry, sample, measurement.energy);
    add_disturbance(entry, sample.disturbance);
    if (entries.empty() && !facts.timeline.empty()) entry["timeline"] = timeline_json(facts.timeline);
    entries.push_back(std::move(entry));
  }
  return entries;
}

namespace {

/// The entry of a point without samples, as Google Benchmark writes it: its compare.py requires times in every entry.
Json entry_without_samples(const Point& point) {
  Json entry = point_entry(point);
  for (const char* key : {"iterations", "real_time", "cpu_time"}) entry[key] = 0;
  entry["time_unit"] = "ns";
  return entry;
}

}  // namespace

Json skipped_entry(const Point& point, const std::string& reason) {
  Json entry = entry_without_samples(point);
  entry["error_occurred"] = false;
  entry["skipped"] = true;
  entry["skip_message"] = reason;
  return entry;
}

Json failed_entry(const Point& point, const std::string& failure) {
  Json entry = entry_without_samples(point);
  entry["error_occurred"] = true;
  entry["error_message"] = failure;
  return entry;
}

Json kernel_descriptions(const std::vector<Point>& points) {
  Json all = Json::object();
  for (const Point& point : points) {
    const Kernel& kernel = *point.kernel;
    Json& one = all[kernel.name];
    Json source = Json::array();
    for (const auto& [id, where] : kernel.source) source.push_back({{"id", id}, {"where", where}});
    one = {{"title", kernel.title},
           {"idea", kernel.idea},
           {"source", source},
           {"order", kernel.order},
           {"side", kernel.side()},
           {"family", kernel.family()},
           {"type", type_name(kernel.type)},
           {"is_library", kernel.is_library},
           {"is_serial", kernel.cpu.is_serial}};
    if (kernel.ceiling)
      one["ceiling"] = {{"label", kernel.ceiling->label}, {"is_bandwidth", kernel.ceiling->is_bandwidth}};
  }
  return all;
}

Json problem_descriptions(const std::vector<Point>& points) {
  Json all = Json::object();
  for (const Point& point : points) {
    const Problem& problem = *point.problem;
    all[problem.family] = {{"title", problem.title},
                           {"metric", {{"key", problem.metric.key}, {"unit", problem.metric.unit}}},
                           {"size_names", problem.size_names}};
  }
  return all;
}

std::string design(const Point& point) {
  const Effort& e = point.effort;
  return fmt::format("{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}", point.name(), point.group, e.min_samples, e.max_samples,
                     e.seconds, e.longest_run, e.warm_up, e.ratio_within, e.energy, e.target_half_width,
                     point.caches ? point.caches->name : "");
}

namespace {

/// CRC-32, as of zlib.
std::uint32_t crc32(const std::string& text) {
  std::uint32_t rest = ~0u;
  for (const unsigned char c : text) {
    rest ^= c;
    for (int bit = 0; bit < 8; ++bit) rest = rest >> 1 ^ (rest & 1 ? 0xEDB88320u : 0);
  }
  return ~rest;
}

}  // namespace

std::string results_text(Json context, const std::vector<Json>& entries) {
  const std::string zeros = "00000000";
  context["checksum"] = "crc32 " + zeros;
  std::string text = "{\"context\": " + json_text(context, 1) + ",\n\"benchmarks\": [";
  const std::size_t digits = text.find("\"checksum\": \"crc32 " + zeros) + std::string("\"checksum\": \"crc32 ").size();
  for (const Json& entry : entries) text += (&entry == entries.data() ? "\n" : ",\n") + json_text(entry);
  text += "\n]}\n";
  return text.replace(digits, zeros.size(), fmt::format("{:08x}", crc32(text)));
}

Json ceilings(const std::string& side, const Json& context, const std::vector<Json>& entries) {
  Json measured{{"gflops", {{"data", Json::array()}}}, {"gbytes", {{"data", Json::array()}}}};
  bool any = false;
  const int all = side == "cpu" ? context.value("cpu_threads", 0) : 0;
  for (const auto& item : context.at("kernels").items()) {
    const Json& kernel = item.value();
    if (kernel["side"] != side || !kernel.contains("ceiling")) continue;
    const bool is_bandwidth = kernel["ceiling"]["is_bandwidth"];
    const std::string label = kernel["ceiling"]["label"];
    const auto add = [&](const std::string& roof, int threads) {
      const double best = best_median(entries, item.key(), is_bandwidth ? "gbytes_per_s" : "gflops", threads);
      if (best > 0) measured[is_bandwidth ? "gbytes" : "gflops"]["data"].push_back(Json::array({roof, best}));
      any = any || best > 0;
    };
    add(label, all);
    if (side == "cpu") add(label + " (1 thread)", 1);
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
