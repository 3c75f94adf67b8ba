/// The mode "count" of a point: executed by the emulator, judged like any other, with the requests of its warps.
#include <fmt/format.h>

#include "common/harness/count.hpp"
#include "common/harness/results.hpp"
#include "common/model/occupancy.hpp"

namespace rung {
namespace {

/// The results of the model of a device's caches; every key begins with "model_", so that none is taken for a measured
/// one.
void add_modelled(const CacheCounts& caches, const Device& device, Json& entry) {
  entry["model_device"] = device.name;
  entry["model_device_gflops"] = device.peak_fp32_gflops;
  entry["model_device_gbytes_per_s"] = device.dram_gbytes_per_s;
  entry["model_device_wavefronts_per_s"] = device.sm_count * device.boost_mhz * 1e6;
  entry["model_l1_hit_rate"] = caches.l1_hit_rate();
  entry["model_l2_hit_rate"] = caches.l2_hit_rate();
  entry["model_l1_load_lines"] = caches.l1_load_lines;
  entry["model_l1_load_sectors"] = caches.l1_load_sectors;
  entry["model_l1_load_hits"] = caches.l1_load_hits;
  entry["model_l2_load_sectors"] = caches.l2_load_sectors;
  entry["model_l2_load_hits"] = caches.l2_load_hits;
  entry["model_l2_store_sectors"] = caches.l2_store_sectors;
  entry["model_dram_bytes_read"] = 32 * caches.dram_read_sectors;
  entry["model_dram_bytes_written"] = 32 * caches.dram_written_sectors;
  entry["model_dram_bytes"] = caches.dram_bytes();
}

void add_executed(const Counts& counts, Json& entry) {
  entry["bytes_executed_loaded"] = counts.bytes_loaded;
  entry["bytes_executed_stored"] = counts.bytes_stored;
  entry["op_per_byte_executed"] = counts.op_per_byte_loaded();
  entry["op_per_byte_executed_with_stores"] = counts.op_per_byte_moved();
  entry["load_requests"] = counts.load_requests;
  entry["store_requests"] = counts.store_requests;
  entry["load_sectors"] = counts.load_sectors;
  entry["store_sectors"] = counts.store_sectors;
  entry["sectors_per_load_request"] = counts.sectors_per_load_request();
  entry["sectors_per_store_request"] = counts.sectors_per_store_request();
  entry["shared_load_requests"] = counts.shared_load_requests;
  entry["shared_store_requests"] = counts.shared_store_requests;
  entry["shared_load_wavefronts"] = counts.shared_load_wavefronts;
  entry["shared_store_wavefronts"] = counts.shared_store_wavefronts;
  entry["async_requests"] = counts.async_requests;
  entry["async_sectors"] = counts.async_sectors;
  entry["async_store_requests"] = counts.async_store_requests;
  entry["async_store_wavefronts"] = counts.async_store_wavefronts;
  entry["wgmma_instructions"] = counts.bulk.products;
  entry["bulk_loads"] = counts.bulk.loads;
  entry["bulk_stores"] = counts.bulk.stores;
  entry["bulk_load_sectors"] = counts.bulk.sectors_loaded;
  entry["bulk_store_sectors"] = counts.bulk.sectors_stored;
  entry["atomic_requests"] = counts.atomic_requests;
  entry["atomic_sectors"] = counts.atomic_sectors;
  entry["shared_atomic_requests"] = counts.shared_atomic_requests;
  entry["shared_atomic_wavefronts"] = counts.shared_atomic_wavefronts;
  entry["constant_requests"] = counts.constant_requests;
  entry["constant_words"] = counts.constant_words;
  entry["accesses"] = counts.accesses;
  for (const EventCount& one : kEventCounts) entry[one.key] = counts.*one.member;
}

/// The most registers that a thread may use without one resident block less; 0 if no block runs anyway.
std::int64_t registers_to_spare(const SmLimits& sm, BlockNeeds block) {
  const int blocks = occupancy(sm, block).blocks_per_sm;
  if (blocks == 0) return 0;
  block.registers_per_thread = sm.registers_per_thread;
  while (occupancy(sm, block).blocks_per_sm < blocks) --block.registers_per_thread;
  return block.registers_per_thread;
}

/// The launch on every GPU of the catalogue. How many registers a compiler would assign there is not known: they are no
/// limit, and the number up to which they would be none is recorded.
void add_catalogue(const Launch& launch, Json& entry) {
  const BlockNeeds block{.threads = static_cast<std::int64_t>(launch.block.count()),
                         .shared_bytes = static_cast<std::int64_t>(launch.dynamic_shared_bytes),
                         .z = launch.block.z};
  for (const Device& device : devices()) {
    const SmLimits sm = sm_limits(device.major, device.minor);
    const Occupancy model = occupancy(sm, block);
    entry[fmt::format("occupancy_on:{}", device.name)] = model.fraction();
    entry[fmt::format("limiter_on:{}", device.name)] = model.limiter;
    entry[fmt::format("registers_on:{}", device.name)] = registers_to_spare(sm, block);
  }
}

}  // namespace

Json counted_entry(const Point& point, std::uint64_t seed) {
  const CountedRun counted = count(point, {.seed = seed, .caches = point.caches});
  const Check& check = counted.check;
  if (!check.passed()) return failed_entry(point, "wrong result when emulated: " + check.reason());
  return counted_entry(point, counted);
}

Json counted_entry(const Point& point, const CountedRun& counted) {
  const auto& [counts, check] = counted;
  Json entry = point_entry(point);
  entry["repetitions"] = 1;
  entry["repetition_index"] = 0;
  entry["threads"] = 1;
  entry["iterations"] = 1;
  entry["real_time"] = entry["cpu_time"] = counts.seconds * 1e9;
  entry["time_unit"] = "ns";
  entry["flops_useful"] = point.problem->flops(point.params());
  entry["flops_executed"] = counts.flops();
  entry["adds"] = counts.fp32.adds + counts.fp64.adds;
  entry["muls"] = counts.fp32.muls + counts.fp64.muls;
  entry["fmas"] = counts.fp32.fmas + counts.fp64.fmas;
  entry["specials"] = counts.fp32.specials + counts.fp64.specials;
  if (counts.tensor.fmas > 0) entry["tensor_fmas"] = counts.tensor.fmas;
  entry["bytes_min"] = point.problem->compulsory_bytes(point.params());
  add_declared(entry, point);
  add_executed(counts, entry);
  if (point.caches) add_modelled(counts.caches, *point.caches, entry);
  if (point.on_catalogue) add_catalogue(point.kernel->gpu.launch(point.params()), entry);
  entry["max_error_ratio"] = check.max_error_ratio;
  if (!check.judged.empty()) entry["judged"] = check.judged;
  return entry;
}

}  // namespace rung
