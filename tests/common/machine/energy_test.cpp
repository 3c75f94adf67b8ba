/// Energy: simulated system counters, and the harness's values for a target that reports its energy.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "common/harness/measure.hpp"
#include "common/harness/results.hpp"
#include "common/machine/rapl.hpp"
#include "gpu/host/nvml.hpp"
#include "gpu/host/power_meter.hpp"
#include "tests/fake_target.hpp"
#include "tests/temporary_folder.hpp"

namespace rung {
namespace {

struct Powercap {
  TemporaryFolder folder;

  void write(const std::string& zone, const std::string& name, const std::string& energy,
             const std::string& range = "1000000") {
    std::filesystem::create_directories(folder / zone);
    folder.write(zone + "/name", name + "\n");
    folder.write(zone + "/energy_uj", energy + "\n");
    folder.write(zone + "/max_energy_range_uj", range + "\n");
  }
};

TEST(Rapl, AddsPackagesAndTheirMemoryOnly) {
  Powercap cap;
  cap.write("intel-rapl:0", "package-0", "1000");
  cap.write("intel-rapl:0:0", "core", "500");
  cap.write("intel-rapl:0:1", "dram", "200");
  cap.write("intel-rapl:1", "package-1", "0");
  cap.write("intel-rapl:2", "psys", "9");
  cap.write("intel-rapl-mmio:0", "package-0", "1000");
  const Rapl rapl(cap.folder.path());
  EXPECT_EQ(rapl.unavailable(), "");
  EXPECT_EQ(rapl.source(), "RAPL package-0, dram, package-1");
  const auto before = rapl.read();
  cap.write("intel-rapl:0", "package-0", "301000");
  cap.write("intel-rapl:0:0", "core", "999999");
  cap.write("intel-rapl:0:1", "dram", "50200");
  cap.write("intel-rapl:1", "package-1", "7");
  EXPECT_DOUBLE_EQ(rapl.joules(before, rapl.read()).value(), 0.350007);
}

TEST(Rapl, GoesOnWhereACounterStartsAgain) {
  Powercap cap;
  cap.write("intel-rapl:0", "package-0", "999000");
  const Rapl rapl(cap.folder.path());
  const auto before = rapl.read();
  cap.write("intel-rapl:0", "package-0", "1000");
  EXPECT_DOUBLE_EQ(rapl.joules(before, rapl.read()).value(), 0.002);
}

TEST(Rapl, SaysWhyThereIsNone) {
  const TemporaryFolder empty;
  EXPECT_EQ(Rapl(empty.path()).unavailable(), "no " + empty.path().string() + "/intel-rapl");
  EXPECT_EQ(Rapl("/does/not/exist").unavailable(), "no /does/not/exist/intel-rapl");
  for (const auto& [energy, range] : {std::pair{"x", "1000"}, {"", "1000"}, {"1", "0"}, {"1", ""}, {"-", "-"}}) {
    Powercap cap;
    cap.write("intel-rapl:0", "package-0", energy, range);
    const Rapl rapl(cap.folder.path());
    EXPECT_TRUE(rapl.unavailable().starts_with("not readable: ")) << rapl.unavailable();
    EXPECT_TRUE(rapl.read().empty());
    EXPECT_FALSE(rapl.joules(rapl.read(), rapl.read()));
  }
}

TEST(Rapl, ACounterThatVanishesGivesNothing) {
  Powercap cap;
  cap.write("intel-rapl:0", "package-0", "1000");
  const Rapl rapl(cap.folder.path());
  const auto before = rapl.read();
  std::filesystem::remove(cap.folder / "intel-rapl:0/energy_uj");
  EXPECT_FALSE(rapl.joules(before, rapl.read()));
}

/// A counter of 700 W that advances every 20 ms, and of 100 W for its first 30 ms.
struct SteppingCounter {
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();

  double joules() const {
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    const double told = std::floor(seconds.count() / 0.02) * 0.02;
    return 100 * std::min(told, 0.03) + 700 * std::max(told - 0.03, 0.0);
  }
};

TEST(PowerMeter, TakesEnergyAndTimeFromStepToStep) {
  const SteppingCounter counter;
  PowerMeter meter([&] { return counter.joules(); });
  std::this_thread::sleep_for(std::chrono::milliseconds(330));
  const std::optional<double> watts = meter.watts();
  ASSERT_TRUE(watts);
  EXPECT_NEAR(*watts, 700, 35) << "a busy machine may see a step late";
  EXPECT_EQ(meter.watts(), watts) << "it has ended";
}

TEST(PowerMeter, TellsNothingOfFewSteps) {
  const SteppingCounter counter;
  PowerMeter meter([&] { return counter.joules(); });
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  EXPECT_FALSE(meter.watts());
  EXPECT_FALSE(PowerMeter([] { return std::nullopt; }).watts());
}

TEST(Nvml, TellsNoEnergyOfAGpuThatIsNotThere) { EXPECT_FALSE(Nvml("ffff:ff:1f.7").joules()); }

Json first_entry(const Measurement& measurement) {
  const Experiment experiment = adhoc_experiment({"cpu/matmul/naive"}, {"n=8"});
  return sample_entries(experiment.points.at(0), measurement, {}).front();
}

constexpr Overrides kSix{.repetitions = 6, .min_seconds = 1e-3};

TEST(Energy, IsThatOfASampleWhereItIsLongEnough) {
  FakeTarget target({{"cpu/none/slow", 0.05}});
  target.watts = 40;
  target.least_energy_seconds = 0.02;
  const Kernel kernel = target.kernel("cpu/none/slow");
  const Json entry = first_entry(measure("slow", target, kernel, {}, Mode::hot, {}, {6, 0.2}));
  EXPECT_GT(entry.at("iterations"), 1);
  EXPECT_NEAR(entry.at("energy_j"), 40 * 0.05, 1e-9);
  EXPECT_NEAR(entry.at("power_w"), 40, 1e-9);
  EXPECT_FALSE(entry.contains("energy_runs"));
}

TEST(Energy, IsThatOfABatchWhereASampleIsTooShort) {
  FakeTarget target({{"cpu/none/fast", 1e-3}});
  target.watts = 40;
  target.least_energy_seconds = 0.02;
  const Kernel kernel = target.kernel("cpu/none/fast");
  const Json entry = first_entry(measure("fast", target, kernel, {}, Mode::hot, {}, kSix));
  EXPECT_NEAR(entry.at("energy_j"), 40e-3, 1e-9);
  EXPECT_NEAR(entry.at("power_w"), 40, 1e-9);
  EXPECT_GE(entry.at("energy_runs"), 20) << "as long as the counters need";
  EXPECT_FALSE(entry.contains("energy_clock_mhz"));
  target.mhz = 1900;
  const Json clocked = first_entry(measure("fast", target, kernel, {}, Mode::hot, {}, kSix));
  EXPECT_GT(clocked.at("sm_clock_mhz"), clocked.at("energy_clock_mhz")) << "each over its own interval, the batch last";
}

TEST(Energy, OfSlowCountersIsTakenWhereTheSweepAsksForIt) {
  FakeTarget target({{"cpu/none/fast", 1e-3}});
  target.watts = 40;
  target.least_energy_seconds = 1;
  const Kernel kernel = target.kernel("cpu/none/fast");
  EXPECT_FALSE(first_entry(measure("fast", target, kernel, {}, Mode::hot, {}, kSix)).contains("energy_j"));
  const Json entry = first_entry(measure("fast", target, kernel, {}, Mode::hot, {.energy = true}, kSix));
  EXPECT_NEAR(entry.at("energy_j"), 40e-3, 1e-9);
  EXPECT_TRUE(adhoc_experiment({"cpu/matmul/naive"}, {"n=8", "energy=true"}).points.at(0).effort.energy);
  EXPECT_THROW(adhoc_experiment({"cpu/matmul/naive"}, {"n=8", "energy=2"}), Error);
}

TEST(Energy, IsAbsentWhereNothingTellsItAndForColdRuns) {
  FakeTarget silent({{"cpu/none/slow", 0.05}});
  const Kernel kernel = silent.kernel("cpu/none/slow");
  EXPECT_FALSE(first_entry(measure("s", silent, kernel, {}, Mode::hot, {}, kSix)).contains("energy_j"));
  silent.watts = 40;
  silent.least_energy_seconds = 0.02;
  EXPECT_FALSE(first_entry(measure("s", silent, kernel, {}, Mode::cold, {}, kSix)).contains("energy_j"));
}

TEST(Energy, TheHostSaysWhereItComesFromOrWhyThereIsNone) {
  const nlohmann::json context = open_host()->context();
  EXPECT_NE(context.contains("energy_source"), context.contains("energy_unavailable"));
}

}  // namespace
}  // namespace rung
