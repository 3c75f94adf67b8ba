/// The emulator against the hardware: what Nsight Compute counted on a real GPU (experiments/recorded/*/counters.json)
/// must be what executing the same kernel here counts, to the last operation, request and sector.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "common/harness/count.hpp"
#include "common/harness/experiment.hpp"
#include "common/source_dir.hpp"

namespace rung {
namespace {

using Json = nlohmann::json;

Json recorded_counters() {
  Json all = Json::object();
  for (const auto& machine : std::filesystem::directory_iterator(source_dir() / "experiments/recorded"))
    if (std::ifstream file(machine.path() / "counters.json"); file) all.update(Json::parse(file)["points"]);
  return all;
}

void expect_equal(const Json& hardware, const char* key, std::uint64_t counted) {
  if (hardware.contains(key)) {
    EXPECT_EQ(hardware[key].get<double>(), double(counted)) << key;
  }
}

/// Operations of threads; requests and sectors of global memory, where the hardware counts asynchronous copies as
/// loads.
void compare_exactly(const Json& hardware, const Counts& counts) {
  expect_equal(hardware, "ffma", counts.fp32.fmas);
  expect_equal(hardware, "fadd", counts.fp32.adds);
  expect_equal(hardware, "fmul", counts.fp32.muls);
  expect_equal(hardware, "dfma", counts.fp64.fmas);
  expect_equal(hardware, "dadd", counts.fp64.adds);
  expect_equal(hardware, "dmul", counts.fp64.muls);
  expect_equal(hardware, "load_requests", counts.load_requests + counts.async_requests);
  expect_equal(hardware, "store_requests", counts.store_requests);
  expect_equal(hardware, "l1_load_sectors", counts.load_sectors + counts.async_sectors);
  expect_equal(hardware, "l1_store_sectors", counts.store_sectors);
  expect_equal(hardware, "atomic_requests", counts.atomic_requests);
  expect_equal(hardware, "async_requests", counts.async_requests);
}

/// The compiler merges neighbouring loads of shared memory into wider ones, so a GPU may make fewer requests, never
/// more. Where it makes as many, their wavefronts are equal.
void compare_shared(const Json& hardware, const char* requests_key, const char* wavefronts_key, std::uint64_t requests,
                    std::uint64_t wavefronts) {
  if (!hardware.contains(requests_key)) return;
  const double made = hardware[requests_key];
  EXPECT_LE(made, double(requests)) << requests_key;
  if (made == double(requests)) expect_equal(hardware, wavefronts_key, wavefronts);
}

void compare_experiment(const char* experiment) {
  const Json recorded = recorded_counters();
  int compared = 0;
  for (const Point& point : load_experiment(find_experiment(experiment)).points) {
    const auto found = recorded.find(point.name());
    if (found == recorded.end() || !point.skip.empty()) continue;
    SCOPED_TRACE(point.name());
    const Counts counts = count(point).counts;
    compare_exactly(*found, counts);
    compare_shared(*found, "shared_load_requests", "shared_load_wavefronts_exact", counts.shared_load_requests,
                   counts.shared_load_wavefronts);
    compare_shared(*found, "shared_store_requests", "shared_store_wavefronts_exact", counts.shared_store_requests,
                   counts.shared_store_wavefronts);
    ++compared;
  }
  if (compared == 0) GTEST_SKIP() << "no hardware counters of the points of experiments/" << experiment << ".toml";
}

TEST(HardwareCounters, EqualTheEmulatorsForMatrixMultiplication) { compare_experiment("ratio"); }
TEST(HardwareCounters, EqualTheEmulatorsForEveryKernel) {
#if defined(__SANITIZE_ADDRESS__)
  // Lanes load together if they are at one place in the code, and here the compiler lays loops out in other pieces.
  GTEST_SKIP() << "the sanitizers change the code that the emulator follows";
#endif
  compare_experiment("emulator");
}
TEST(HardwareCounters, EqualTheEmulatorsForStridedSharedMemory) { compare_experiment("bank_conflicts"); }

}  // namespace
}  // namespace rung
