/// The emulator against the hardware: what Nsight Compute counted on a real GPU (experiments/recorded/*/counters.json)
/// must be what executing the same kernel here counts, to the last operation, request and sector.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "common/harness/experiment.hpp"
#include "gpu/simt/emulator.hpp"

namespace rung {
namespace {

nlohmann::json recorded_counters() {
  nlohmann::json all = nlohmann::json::object();
  for (const auto& machine : std::filesystem::directory_iterator(RUNG_SOURCE_DIR "/experiments/recorded"))
    if (std::ifstream file(machine.path() / "counters.json"); file) all.update(nlohmann::json::parse(file)["points"]);
  return all;
}

TEST(HardwareCounters, EqualTheEmulatorsExactly) {
  const nlohmann::json recorded = recorded_counters();
  int compared = 0;
  for (const Point& point : load_experiment(find_experiment("ratio")).points) {
    const auto found = recorded.find(point.name());
    if (found == recorded.end() || !point.skip.empty()) continue;
    SCOPED_TRACE(point.name());
    const Counts counts = count(*point.kernel, point.params());
    const auto equal = [&](const char* key, std::uint64_t counted) {
      if (found->contains(key)) {
        EXPECT_EQ((*found)[key].get<double>(), double(counted)) << key;
      }
    };
    equal("ffma", counts.fp32.fmas);
    equal("fadd", counts.fp32.adds);
    equal("fmul", counts.fp32.muls);
    equal("load_requests", counts.load_requests);
    equal("store_requests", counts.store_requests);
    equal("l1_load_sectors", counts.load_sectors);
    equal("l1_store_sectors", counts.store_sectors);
    equal("thread_loads", counts.bytes_loaded / 4);
    equal("thread_stores", counts.bytes_stored / 4);
    ++compared;
  }
  if (compared == 0) GTEST_SKIP() << "no hardware counters of the points of experiments/ratio.toml are recorded";
}

}  // namespace
}  // namespace rung
