#include "common/harness/experiment.hpp"

#include <gtest/gtest.h>

#include <algorithm>

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
  EXPECT_THROW(find_experiment("matmul_lader"), Error);
}

TEST(Experiment, TakesAxesFromTheCommandLine) {
  EXPECT_EQ(adhoc_experiment({"cpu/matmul/naive"}, {"n=8,16"}).points.size(), 2u);
  EXPECT_EQ(adhoc_experiment({"cpu/matmul/naive"}, {"n=[8,16,32]"}).points.size(), 3u);
  EXPECT_EQ(adhoc_experiment({"cpu/matmul/naive"}, {"n=8", "mode=cold"}).points.at(0).way, Way::cold);
}

}  // namespace
}  // namespace rung
