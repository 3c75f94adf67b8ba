/// Each check against folders with the contents of a machine's /proc and /sys.
#include "common/doctor/doctor.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/temporary_folder.hpp"

namespace rung::doctor {
namespace {

/// A machine without problems, with a GPU; each test changes one aspect.
class Machine {
 public:
  Machine() {
    put("proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release");
    put("proc/driver/nvidia/params", "ResmanDebugLevel: 4294967295\nRmProfilingAdminOnly: 0");
    put("dev/nvidiactl", "");
    put("sys/bus/pci/devices/0000:01:00.0/vendor", "0x10de");
    put("sys/bus/pci/devices/0000:01:00.0/class", "0x030200");
    put("proc/sys/kernel/perf_event_paranoid", "2");
    put("sys/bus/event_source/devices/cpu/type", "4");
    put("sys/class/powercap/intel-rapl:0/energy_uj", "123");
    for (const char* cpu : {"cpu0", "cpu1"})
      put("sys/devices/system/cpu/" + std::string(cpu) + "/cpufreq/scaling_governor", "performance");
    put("sys/devices/system/cpu/smt/active", "0");
    put("proc/loadavg", "0.05 0.03 0.01 1/200 1234");
    put("proc/self/cgroup", "0::/job");
    put("sys/fs/cgroup/job/cpu.max", "max 100000");
    put("proc/meminfo", "MemTotal:       16777216 kB\nMemFree: 1 kB");
    put("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never");
    system = {.root = folder_.path(),
              .run = [](const std::string&) { return std::optional<std::string>("Python 3.11.2"); },
              .free_bytes = [](const std::filesystem::path&) { return std::optional<double>(1e12); },
              .python = "python3",
              .cuda_compiler = "NVIDIA 13.0.88",
              .libraries = {{"fmt", "9.1.0", "installed", "", "libfmt-dev"}},
              .threads_asked = 4,
              .threads_given = 4,
              .results = "results/here"};
  }

  void put(const std::string& file, const std::string& text) {
    std::filesystem::create_directories((folder_.path() / file).parent_path());
    std::ofstream(folder_.path() / file) << text << '\n';
  }
  void remove(const std::string& file) { std::filesystem::remove_all(folder_.path() / file); }

  std::vector<Finding> findings() const { return diagnose(system); }
  /// The checks that are not good, as "verdict of what".
  std::vector<std::string> complaints() const {
    std::vector<std::string> all;
    for (const Finding& finding : findings()) {
      EXPECT_FALSE(finding.what.empty());
      EXPECT_FALSE(finding.found.empty()) << finding.what;
      EXPECT_EQ(finding.verdict == Verdict::good, finding.cost.empty()) << finding.what;
      EXPECT_EQ(finding.verdict == Verdict::good, finding.remedy.empty()) << finding.what;
      if (finding.verdict != Verdict::good)
        all.push_back((finding.verdict == Verdict::costs ? "costs: " : "wrong: ") + finding.what);
    }
    return all;
  }
  std::string found(const std::string& what) const {
    for (const Finding& finding : findings())
      if (finding.what == what) return finding.found;
    return "";
  }

  System system;

 private:
  TemporaryFolder folder_;
};

using List = std::vector<std::string>;

TEST(Doctor, HasNothingToSayOfAGoodMachine) {
  const Machine machine;
  EXPECT_EQ(machine.complaints(), List{});
  EXPECT_EQ(machine.found("GPU driver"), "580.65.06");
  EXPECT_EQ(machine.found("CUDA toolkit"), "13.0.88, as the driver allows");
  EXPECT_EQ(machine.found("memory"), "16.0 GiB of the machine");
  EXPECT_EQ(machine.found("governor"), "performance on 2 processors");
}

TEST(Doctor, SaysThatThereIsNoGpu) {
  Machine machine;
  machine.remove("proc/driver");
  machine.remove("sys/bus/pci");
  EXPECT_EQ(machine.complaints(), List{"costs: GPU"});
}

TEST(Doctor, SeesTheGpuOfWindows) {
  Machine machine;
  for (const char* file : {"proc/driver", "sys/bus/pci", "dev/nvidiactl"}) machine.remove(file);
  machine.put("dev/dxg", "");
  bool has_smi = true;
  machine.system.run = [&](const std::string& command) -> std::optional<std::string> {
    if (command.find("nvidia-smi") == std::string::npos) return "Python 3.11.2";
    return has_smi ? std::optional<std::string>("581.15") : std::nullopt;
  };
  EXPECT_EQ(machine.complaints(), List{});
  EXPECT_EQ(machine.found("GPU driver"), "581.15");
  has_smi = false;
  EXPECT_EQ(machine.complaints().front(), "costs: GPU") << "Windows shows any GPU by that device";
}

TEST(Doctor, NamesWhatKeepsTeamsSmall) {
  Machine machine;
  machine.system.threads_given = 1;
  machine.system.team_limit = "OMP_THREAD_LIMIT=1";
  EXPECT_EQ(machine.complaints(), List{"costs: OpenMP threads"});
  EXPECT_EQ(machine.found("OpenMP threads"), "1 of 4: OMP_THREAD_LIMIT=1");
}

TEST(Doctor, SeesThatResultsCannotBeWritten) {
  Machine machine;
  machine.system.can_write = [](const std::filesystem::path& folder) { return folder != "results/here"; };
  EXPECT_EQ(machine.complaints(), List{"wrong: results"});
}

TEST(Doctor, SaysWhyTheCommitIsUnknown) {
  Machine machine;
  machine.system.no_commit = "fatal: detected dubious ownership in repository at '/rung'";
  EXPECT_EQ(machine.complaints(), List{"costs: commit"});
}

TEST(Doctor, SeesAGpuWithoutItsDriver) {
  Machine machine;
  machine.remove("proc/driver");
  EXPECT_EQ(machine.complaints(), List{"wrong: GPU"});
  machine.put("sys/bus/pci/devices/0000:01:00.0/class", "0x040300");  // the sound of a graphics card is no GPU
  EXPECT_EQ(machine.complaints(), List{"costs: GPU"});
}

TEST(Doctor, HoldsTheDriverAgainstTheToolkit) {
  Machine machine;
  const auto with = [&](const std::string& driver, const std::string& compiler) {
    machine.put("proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  " + driver + "  Wed");
    machine.system.cuda_compiler = compiler;
    return machine.complaints();
  };
  EXPECT_EQ(with("575.57.08", "NVIDIA 13.0.88"), List{"wrong: CUDA toolkit"});
  EXPECT_EQ(with("575.57.08", "NVIDIA 12.9.41"), List{});
  EXPECT_EQ(with("525.60.13", "NVIDIA 12.0.140"), List{});
  EXPECT_EQ(with("470.256.02", "NVIDIA 12.0.140"), List{"wrong: CUDA toolkit"});
  EXPECT_EQ(with("550.54.15", ""), List{"wrong: CUDA toolkit"});
  EXPECT_EQ(machine.found("CUDA toolkit"), "rung was built without CUDA");
}

TEST(Doctor, SeesThatAContainerHidesTheGpu) {
  Machine machine;
  machine.remove("dev/nvidiactl");
  EXPECT_EQ(machine.complaints(), List{"wrong: GPU device"});
}

TEST(Doctor, AsksForTheRightToReadCounters) {
  Machine machine;
  machine.put("proc/driver/nvidia/params", "RmProfilingAdminOnly: 1");
  machine.put("proc/sys/kernel/perf_event_paranoid", "4");
  machine.put("sys/class/powercap/intel-rapl:0/energy_uj", "");
  machine.remove("sys/class/powercap/intel-rapl:0/energy_uj");
  EXPECT_EQ(machine.complaints(), (List{"costs: GPU counters", "costs: CPU counters", "costs: CPU energy"}));
  machine.put("proc/sys/kernel/perf_event_paranoid", "-1");
  EXPECT_EQ(machine.complaints(), (List{"costs: GPU counters", "costs: CPU energy"}));
  machine.remove("sys/bus/event_source");
  EXPECT_EQ(machine.complaints(), (List{"costs: GPU counters", "costs: CPU counters", "costs: CPU energy"}));
}

TEST(Doctor, SeesWhatMovesTheClock) {
  Machine machine;
  machine.put("sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "powersave");
  machine.put("sys/devices/system/cpu/smt/active", "1");
  machine.put("proc/loadavg", "1.50 1.00 0.50 3/200 1234");
  EXPECT_EQ(machine.complaints(), (List{"costs: governor", "costs: SMT", "costs: other work"}));
  EXPECT_EQ(machine.found("governor"), "performance on 1 processors, powersave on 1 processors");
  EXPECT_EQ(machine.found("other work"), "load 1.50 on 2 processors");
}

TEST(Doctor, SeesTheLimitsOfControlGroups) {
  Machine machine;
  machine.put("sys/fs/cgroup/job/cpu.max", "150000 100000");
  machine.put("sys/fs/cgroup/job/memory.max", "1073741824");
  machine.put("sys/fs/cgroup/job/memory.current", "1000");
  EXPECT_EQ(machine.complaints(), (List{"costs: CPU limit", "costs: memory"}));
  EXPECT_EQ(machine.found("CPU limit"), "the control group allows 1.5 processors");
  EXPECT_EQ(machine.found("memory"), "1.0 GiB allowed by the control group");
}

TEST(Doctor, SeesForbiddenHugePagesAndAFullDisk) {
  Machine machine;
  machine.put("sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]");
  machine.system.free_bytes = [](const std::filesystem::path&) { return std::optional<double>(1e8); };
  EXPECT_EQ(machine.complaints(), (List{"costs: huge pages", "wrong: disk space"}));
}

TEST(Doctor, SeesMissingLibrariesProgramsAndPackages) {
  Machine machine;
  machine.system.libraries.push_back({"hwloc", "", "missing", "caches are read from /sys", "libhwloc-dev"});
  machine.system.run = [](const std::string& command) -> std::optional<std::string> {
    if (command.ends_with("--version")) return "Python 3.11.2";
    if (command.find("typst") != std::string::npos || command.find("addr2line") != std::string::npos) return {};
    return "";
  };
  EXPECT_EQ(machine.complaints(), (List{"costs: hwloc", "costs: Python", "costs: addr2line"}));
  EXPECT_EQ(machine.found("Python"), "Python 3.11.2 without typst");
  EXPECT_EQ(machine.found("libraries"), "fmt 9.1.0");
}

TEST(Doctor, KnowsNothingOfAnEmptyFolderAndSaysSo) {
  Machine machine;
  for (const char* folder : {"proc", "sys", "dev"}) machine.remove(folder);
  EXPECT_EQ(machine.complaints(), (List{"costs: GPU", "costs: CPU counters", "costs: CPU energy", "costs: governor"}));
}

TEST(Doctor, OfThisMachineIsPlainTextOrJsonWithTheDocumentedCode) {
  const auto run = [](const std::string& arguments) {
    std::FILE* pipe = popen((std::string(RUNG_PROGRAM) + " doctor " + arguments).c_str(), "r");
    std::string output;
    std::array<char, 4096> buffer;
    while (const std::size_t n = fread(buffer.data(), 1, buffer.size(), pipe)) output.append(buffer.data(), n);
    return std::pair(WEXITSTATUS(pclose(pipe)), output);
  };
  const auto [code, text] = run("--json");
  const auto document = nlohmann::json::parse(text);
  EXPECT_EQ(code, document.at("wrong") > 0 ? 1 : 0);
  EXPECT_GE(document.at("findings").size(), 12u);
  EXPECT_TRUE(document.at("version").contains("commit"));
  for (const auto& finding : document.at("findings"))
    EXPECT_EQ(finding.contains("remedy"), finding["verdict"] != "good");
  const auto [same_code, plain] = run("");
  EXPECT_EQ(same_code, code);
  EXPECT_NE(plain.find("libraries"), std::string::npos);
  EXPECT_NE(plain.find(" wrong, "), std::string::npos);
}

}  // namespace
}  // namespace rung::doctor
