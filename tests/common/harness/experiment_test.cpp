#include "common/harness/experiment.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "common/harness/count.hpp"
#include "common/harness/results.hpp"
#include "tests/temporary_folder.hpp"

namespace rung {
namespace {

std::string error_of(const std::string& text) {
  TemporaryFolder folder;
  try {
    load_experiment(folder.write("test.toml", text));
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    EXPECT_NE(message.find("test.toml"), std::string::npos) << message;
    return message;
  }
  return "";
}

std::string sweep(const std::string& lines) { return "[[sweep]]\nkernels = ['cpu/matmul/naive']\n" + lines; }

TEST(Experiment, EveryShippedOneLoads) {
  const auto names = experiment_names();
  EXPECT_GE(names.size(), 4u);
  for (const std::string& name : names) {
    const Experiment experiment = load_experiment(find_experiment(name));
    EXPECT_FALSE(experiment.points.empty()) << name;
    EXPECT_FALSE(experiment.title.empty()) << name;
    EXPECT_FALSE(experiment.question.empty()) << name;
  }
}

TEST(Experiment, CombinesAxesWithoutRepeats) {
  TemporaryFolder folder;
  const auto file = folder.write("test.toml", sweep("n = [2, 3]\nmode = ['hot', 'cold']\n") + sweep("n = [3]\n") +
                                                  sweep("sizes = [{m = 1, n = 2, k = 3}]\n"));
  std::vector<std::string> names;
  for (const Point& point : load_experiment(file).points) names.push_back(point.name());
  EXPECT_EQ(names,
            (std::vector<std::string>{"cpu/matmul/naive/n:2", "cpu/matmul/naive/n:2/mode:cold", "cpu/matmul/naive/n:3",
                                      "cpu/matmul/naive/n:3/mode:cold", "cpu/matmul/naive/m:1/n:2/k:3"}));
}

TEST(Experiment, RefusesWhatItDoesNotKnow) {
  EXPECT_NE(error_of("titel = 'x'\n" + sweep("n = 4\n")).find("'title'"), std::string::npos);
  EXPECT_NE(error_of(sweep("n = 4\nsecond = 2.0\n")).find("'seconds'"), std::string::npos);
  EXPECT_NE(error_of("[[sweep]]\nkernels = ['cpu/matmul/naiv']\nn = 4\n").find("cpu/matmul/naive"), std::string::npos);
  EXPECT_NE(error_of(sweep("n = 4\nmode = 'hott'\n")).find("'hot'"), std::string::npos);
  EXPECT_NE(error_of("[[sweep]]\nkernel = ['cpu/matmul/naive']\nn = 4\n").find("key 'kernel'; did you mean 'kernels'?"),
            std::string::npos);
  EXPECT_NE(error_of("source = [{id = 'pmmp'}]\n" + sweep("n = 4\n")).find("did you mean 'pmpp'?"), std::string::npos);
  EXPECT_NE(error_of("source = [{id = 'pmpp', were = 'section 5'}]\n" + sweep("n = 4\n")), "");
  EXPECT_NE(error_of("[report]\nkind = 'laddder'\n" + sweep("n = 4\n")).find("did you mean 'ladder'?"),
            std::string::npos);
  EXPECT_EQ(error_of("source = [{id = 'pmpp'}]\n[report]\nkind = 'ladder'\n" + sweep("n = 4\n")), "");
  for (const char* library : {"cpu/matmul/onednn", "cpu/matmul/amx_bf16", "gpu/matmul/cublas"})  // on every build
    EXPECT_NE(
        error_of("[[sweep]]\nkernels = ['" + std::string(library) + "_']\nn = 4\n").find(library + std::string("'?")),
        std::string::npos);
}

TEST(Experiment, RefusesWrongTypesAndRanges) {
  for (const char* lines :
       {"n = 0", "n = -1", "n = 4611686018427387904", "n = 2.5", "n = 'four'", "n = []", "n = 4\nseconds = -1",
        "n = 4\nseconds = 'long'", "n = 4\nmode = 3", "sizes = 4", "sizes = [3]", "", "n = 4\nn = 5", "n = [4"})
    EXPECT_NE(error_of(sweep(std::string(lines) + "\n")), "") << lines;
  EXPECT_NE(error_of(""), "");
  EXPECT_NE(error_of("sweep = 3"), "");
  EXPECT_NE(error_of("[[sweep]]\nn = 4\n").find("kernels"), std::string::npos);
  EXPECT_NE(error_of(std::string("\0\xff\xfe", 3)), "");
}

std::string counted_sweep(const std::string& lines) {
  return "[[sweep]]\nkernels = ['gpu/matmul/naive']\nn = [4]\n" + lines;
}

TEST(Experiment, NamesTheDeviceWhoseCachesAreModelled) {
  TemporaryFolder folder;
  const auto file = folder.write(
      "test.toml", counted_sweep("mode = 'count'\ncaches = 'h200'\n") + counted_sweep("mode = 'count'\nblock = [8]\n"));
  const std::vector<Point> points = load_experiment(file).points;
  ASSERT_EQ(points.size(), 2u);
  ASSERT_NE(points[0].caches, nullptr);
  EXPECT_EQ(points[0].caches->name, "H200");
  EXPECT_EQ(points[0].name(), "count/gpu/matmul/naive/block:16/n:4");
  EXPECT_EQ(points[1].caches, nullptr);
}

TEST(Experiment, RefusesCachesThatCannotBeModelled) {
  for (const auto& [lines, word] : std::map<std::string, std::string>{
           {"mode = 'count'\ncaches = 'H20O'\n", "'caches'"},     // no such device
           {"mode = 'count'\ncaches = 'H20O'\n", "H200"},         // the nearest one
           {"mode = 'count'\ncaches = 'GTX 780'\n", "'caches'"},  // too old to be modelled
           {"mode = 'count'\ncaches = 'K40'\n", "not modelled"},
           {"mode = 'count'\ncaches = ''\n", "'caches'"},
           {"mode = 'count'\ncaches = 3\n", "'caches'"},
           {"mode = 'count'\ncaches = ['H200']\n", "'caches'"},
           {"mode = ['count', 'hot']\ncaches = 'H200'\n", "'caches'"},
           {"caches = 'H200'\n", "'caches'"},      // not counted at all
           {"catalogue = true\n", "'catalogue'"},  // neither
           {"mode = 'count'\ncatalogue = 'H200'\n", "'catalogue'"},
           {"mode = 'count'\ncache = 'H200'\n", "'caches'"}})  // a misspelt key
    EXPECT_NE(error_of(counted_sweep(lines)).find(word), std::string::npos) << lines << error_of(counted_sweep(lines));
}

/// The report would ignore them silently.
TEST(Experiment, RefusesWordsThatTheReportDoesNotKnow) {
  const auto error = [](const std::string& report) {
    try {
      parse_experiment(
          "title = 't'\nquestion = 'q'\n[report]\n" + report + "\n[[sweep]]\nkernels = ['cpu/matmul/naive']\nn = [8]\n",
          "own.toml", Scale::full);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(error("kind = 'ladder'\nfamily = 'matmul'\ntype = 'fp32'\nsize = 8"), "");
  EXPECT_NE(error("family = 'matmull'").find("did you mean 'matmul'"), std::string::npos)
      << error("family = 'matmull'");
  EXPECT_NE(error("type = 'fp33'").find("'fp33' is not one of"), std::string::npos);
  EXPECT_NE(error("knd = 'ladder'").find("did you mean 'kind'"), std::string::npos);
  EXPECT_NE(error("family = 3").find("is not one of"), std::string::npos);
}

/// All kernels that the emulator can run are counted, so that the report can compare them with hardware counters.
TEST(Experiment, EveryEmulatedKernelIsCountedInSomeExperiment) {
  std::set<std::string> counted;
  for (const std::string& name : experiment_names())
    for (const Point& point : load_experiment(find_experiment(name)).points)
      if (point.skip.empty() && point.way == Way::count) counted.insert(point.kernel->name);
  for (const Kernel& kernel : kernels())
    if (kernel.side() == "gpu" && kernel.gpu.not_emulated.empty()) {
      EXPECT_TRUE(counted.contains(kernel.name)) << kernel.name;
    }
}

/// The brief study is part of the full one: the same kernels or fewer, never one that the full study leaves out.
TEST(Experiment, TheBriefStudyMeasuresKernelsOfTheFullOne) {
  for (const std::string& name : experiment_names()) {
    std::set<std::string> full;
    for (const Point& point : load_experiment(find_experiment(name), Scale::full).points)
      full.insert(point.kernel->name);
    const Experiment brief = load_experiment(find_experiment(name), Scale::brief);
    EXPECT_FALSE(brief.points.empty()) << name;
    for (const Point& point : brief.points) EXPECT_TRUE(full.contains(point.kernel->name)) << point.name();
  }
}

TEST(CountedEntry, HasAllCountsAndTheModelsUnderItsOwnNames) {
  Point point = adhoc_experiment({"gpu/matmul/tiled"}, {"n=32", "tile=16", "mode=count"}).points.at(0);
  const nlohmann::ordered_json plain = counted_entry(point, 1);
  const Counts counts = count(point).counts;
  EXPECT_GT(counts.shared_load_wavefronts, 0u);
  for (const auto& [key, value] :
       std::map<std::string, std::uint64_t>{{"fmas", counts.fp32.fmas},
                                            {"specials", 0},
                                            {"load_requests", counts.load_requests},
                                            {"load_sectors", counts.load_sectors},
                                            {"shared_load_requests", counts.shared_load_requests},
                                            {"shared_store_requests", counts.shared_store_requests},
                                            {"shared_load_wavefronts", counts.shared_load_wavefronts},
                                            {"shared_store_wavefronts", counts.shared_store_wavefronts},
                                            {"async_requests", 0},
                                            {"async_sectors", 0},
                                            {"async_store_requests", 0},
                                            {"async_store_wavefronts", 0},
                                            {"atomic_requests", 0},
                                            {"atomic_sectors", 0},
                                            {"shared_atomic_requests", 0},
                                            {"shared_atomic_wavefronts", 0},
                                            {"constant_requests", 0},
                                            {"constant_words", 0},
                                            {"divergent_requests", counts.divergent_requests},
                                            {"accesses", counts.accesses},
                                            {"barriers", counts.barriers},
                                            {"warp_barriers", 0},
                                            {"shuffles", 0}})
    EXPECT_EQ(plain.at(key).get<std::uint64_t>(), value) << key;
  for (const auto& [key, value] : plain.items()) EXPECT_FALSE(key.starts_with("model_")) << key;

  point.caches = &find_device("H200");
  const nlohmann::ordered_json modelled = counted_entry(point, 1);
  EXPECT_EQ(modelled.at("model_device"), "H200");
  EXPECT_EQ(modelled.at("model_l1_load_sectors"), plain.at("load_sectors"));
  EXPECT_EQ(modelled.at("model_dram_bytes"), 2 * 32 * 32 * 4);  // A and B, once; C stays in the L2
  EXPECT_EQ(modelled.at("model_l2_store_sectors"), plain.at("store_sectors"));
  for (const char* key : {"model_l1_hit_rate", "model_l2_hit_rate"}) {
    EXPECT_GE(modelled.at(key).get<double>(), 0) << key;
    EXPECT_LE(modelled.at(key).get<double>(), 1) << key;
  }
}

/// Tiles of 32 x 32 have too many threads for a block of a G80, and more than half of an SM's on an RTX 3080, which so
/// has room for one block.
TEST(Experiment, ACountedLaunchIsModelledOnEveryGpuOfTheCatalogue) {
  Point point = point_of(find_kernel("gpu/matmul/dynamic_tile"), {{"tile", 32}, {"n", 32}});
  point.way = Way::count;
  EXPECT_FALSE(counted_entry(point, 1).contains("limiter_on:H200"));
  point.on_catalogue = true;
  const nlohmann::ordered_json entry = counted_entry(point, 1);
  EXPECT_EQ(entry.at("occupancy_on:8800 GTX (G80)"), 0);
  EXPECT_EQ(entry.at("limiter_on:8800 GTX (G80)"), "threads");
  EXPECT_EQ(entry.at("registers_on:8800 GTX (G80)"), 0);
  EXPECT_EQ(entry.at("occupancy_on:RTX 3080"), 32.0 / 48);
  EXPECT_EQ(entry.at("registers_on:RTX 3080"), 64);
  EXPECT_EQ(entry.at("occupancy_on:H200"), 1);
  EXPECT_EQ(entry.at("limiter_on:H200"), "threads");
  EXPECT_EQ(entry.at("registers_on:H200"), 32);
}

TEST(Experiment, RefusesABillionPoints) {
  std::string numbers;
  for (int i = 1; i <= 1000; ++i) numbers += std::to_string(i) + ",";
  EXPECT_NE(error_of(sweep("n = [" + numbers + "]\nm = [" + numbers + "]\nk = [" + numbers + "]\n")).find("points"),
            std::string::npos);
}

TEST(Experiment, SaysWhyAPointCannotBe) {
  const Experiment counted = adhoc_experiment({"cpu/matmul/naive"}, {"n=8", "mode=count"});
  EXPECT_NE(counted.points.at(0).skip, "");
  EXPECT_THROW(adhoc_experiment({"cpu/matmul/naive"}, {"n"}), Error);
  EXPECT_THROW(adhoc_experiment({"cpu/matmul/naive"}, {"n=8", "ratio_within=0.01"}), Error)
      << "only for interleaved samples";
  EXPECT_THROW(find_experiment("matmul_lader"), Error);
}

TEST(Experiment, TakesAxesFromTheCommandLine) {
  EXPECT_EQ(adhoc_experiment({"cpu/matmul/naive"}, {"n=8,16"}).points.size(), 2u);
  EXPECT_EQ(adhoc_experiment({"cpu/matmul/naive"}, {"n=[8,16,32]"}).points.size(), 3u);
  EXPECT_EQ(adhoc_experiment({"cpu/matmul/naive"}, {"n=8", "mode=cold"}).points.at(0).way, Way::cold);
}

}  // namespace
}  // namespace rung
