/// Features that a build or a machine lacks are skipped with one line: no kernel vanishes, no unknown value is stated.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "common/harness/experiment.hpp"
#include "common/harness/point_runner.hpp"
#include "common/machine/target.hpp"
#include "common/source_dir.hpp"
#include "tests/temporary_folder.hpp"

namespace rung {
namespace {

/// Why this machine does not run the kernel; empty if it does. Throws Error if there is no such kernel.
std::string skip_of(const std::string& kernel) { return adhoc_experiment({kernel}, {"n=8"}).points.at(0).skip; }

/// Blank-separated words of the first line of /proc/cpuinfo that starts with this; empty if there is none.
std::vector<std::string> cpuinfo_words(const std::string& start) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(start)) {
      std::istringstream words(line);
      return {std::istream_iterator<std::string>(words), {}};
    }
  return {};
}

bool has(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

TEST(Absent, OnednnIsNamedOnEveryBuildAndRefusedWhereItIsMissing) {
  for (const char* name : {"cpu/matmul/onednn", "cpu/matmul/onednn_bf16"}) {
    SCOPED_TRACE(name);
    const Kernel& kernel = find_kernel(name);
    const bool is_missing = kernel.source.front().where.find("not in this build") != std::string::npos;
    const std::string reason = "built without oneDNN: install libdnnl-dev and build again";
    EXPECT_EQ(skip_of(name) == reason, is_missing) << skip_of(name);
    float c = 0;
    std::uint16_t a = 0, b = 0;
    if (is_missing) {
      EXPECT_THROW(kernel.run({.params = {{"m", 1}, {"n", 1}, {"k", 1}}, .operands = {&a, &b, &c}}), Error);
    }
  }
}

TEST(Absent, OpenBlasIsNamedOnEveryBuildAndRefusedWhereItIsMissing) {
  const Kernel& kernel = find_kernel("cpu/matmul/openblas");
  const bool is_missing = kernel.source.front().where.find("not in this build") != std::string::npos;
  const std::string reason = "built without OpenBLAS: install libopenblas-openmp-dev and build again";
  EXPECT_EQ(skip_of("cpu/matmul/openblas"), is_missing ? reason : "");
}

/// The rungs on the SIMD micro-kernel have a width of the CPU, or all of them report that Highway is missing.
TEST(Absent, RungsOnHighwaysVectorsAreNamedOnEveryBuild) {
  const std::string reason = "built without Highway: install libhwy-dev and build again";
  const bool is_missing = skip_of("cpu/matmul/fused") == reason;
  for (const char* name : {"cpu/matmul/fused", "cpu/matmul/masked", "cpu/matmul/packed", "cpu/matmul/register_tile"})
    EXPECT_EQ(skip_of(name), is_missing ? reason : "") << name;
}

/// Otherwise experiments that name them could not be read.
TEST(Absent, VectorMathIsNamedOnEveryBuild) {
  for (const char* name :
       {"cpu/math/libmvec", "cpu/math_error/libmvec", "cpu/math/highway", "cpu/math_error/highway"}) {
    SCOPED_TRACE(name);
    const Kernel& kernel = find_kernel(name);
    const std::string reason = kernel.refuse({{"function", 0}});
    if (reason.empty()) continue;
    EXPECT_TRUE(reason.starts_with("built without Highway") || reason.starts_with("needs a build by g++")) << reason;
    EXPECT_THROW(kernel.run({}), Error);
  }
}

TEST(Absent, AmxIsNamedOnEveryBuildAndRefusedWhereTheCpuHasNone) {
  const std::string skip = skip_of("cpu/matmul/amx_bf16");
  EXPECT_EQ(skip.find('\n'), std::string::npos);
  if (!has(cpuinfo_words("flags"), "amx_bf16")) {
    EXPECT_NE(skip.find("AMX"), std::string::npos) << skip;
  }
}

/// The other points of a group are measured as if the refused one were not there.
TEST(Absent, RefusedPointsAreSkippedWithTheirReason) {
  const Experiment experiment =
      adhoc_experiment({"cpu/matmul/*_bf16", "cpu/matmul/naive", "cpu/matmul/onednn"}, {"n=8", "interleave=true"});
  std::map<int, Group> groups;
  for (const Point& point : experiment.points) groups[point.group].push_back(&point);
  PointRunner runner(0, 1, {.repetitions = 1, .min_seconds = 1e-6});
  for (const auto& [index, group] : groups) {
    const std::vector<PointEntries> results = runner.run(group);
    ASSERT_EQ(results.size(), group.size());
    for (const auto& [point, entries] : results) {
      SCOPED_TRACE(point->name());
      ASSERT_EQ(entries.size(), 1u);
      EXPECT_EQ(entries[0].value("skip_message", ""), point->skip);
      EXPECT_EQ(entries[0].contains("gflops"), point->skip.empty()) << entries[0];
    }
  }
}

TEST(Absent, WhetherTheMachineIsVirtualIsSaidWhereTheSystemTells) {
  const std::vector<std::string> flags = cpuinfo_words("flags");
  const nlohmann::json context = open_host()->context();
  ASSERT_EQ(context.contains("virtualised"), !flags.empty());
  if (!flags.empty()) {
    EXPECT_EQ(context.at("virtualised"), has(flags, "hypervisor"));
  }
}

TEST(Absent, TypesThatOlderTensorCoresLackAreLeftOutByTheirRecords) {
  const std::map<Type, int> since{{Type::bf16, 80}, {Type::tf32, 80}, {Type::fp8, 89}};
  for (const Kernel& kernel : kernels()) {
    const auto least = since.find(kernel.type);
    if (kernel.side() != "gpu" || least == since.end()) continue;
    EXPECT_GE(kernel.gpu.min_compute_capability, least->second) << kernel.name;
  }
}

TEST(Absent, SourcesThatWereMovedAreFoundAroundTheProgram) {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder / "tree/experiments");
  std::filesystem::create_directories(folder / "tree/build");
  const auto moved = [&] { return find_sources("/does/not/exist", folder / "tree/build/rung"); };
  EXPECT_EQ(moved(), "/does/not/exist");
  folder.write("tree/experiments/sources.toml", "");
  EXPECT_EQ(moved(), folder / "tree");
  EXPECT_EQ(find_sources(source_dir(), folder / "tree/build/rung"), source_dir()) << "where it was built comes first";
  EXPECT_EQ(find_sources("/does/not/exist", "rung"), "/does/not/exist");
  try {
    project_file("experiments/none.toml");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).find("experiments/none.toml is neither in " + built_from().string()), 0u);
  }
}

}  // namespace
}  // namespace rung
