/// The problems "transfer" and "pipeline": where their operands are, and that the judge detects a single wrong bit or
/// step.
#include "common/problem/transfer.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "common/harness/results.hpp"
#include "common/harness/workload.hpp"
#include "common/problem/fma.hpp"

namespace rung {
namespace {

constexpr std::int64_t kElements = 4099;

/// Copies of the inputs as outputs, operand by operand; one may be spoiled.
class Transfer : public testing::TestWithParam<Value> {
 protected:
  Params sizes = find_problem("transfer").complete({{"direction", GetParam()}, {"n", kElements}});
  const Problem& problem = find_problem("transfer");
  const HostInputs inputs{problem, sizes, problem.timed_data(), 11};
  const std::vector<Operand> operands = problem.operands(sizes);
  std::vector<std::vector<std::uint32_t>> outputs;

  void SetUp() override {
    for (std::size_t i = 0; i < operands.size(); i += 2) {
      const auto* from = static_cast<const std::uint32_t*>(inputs.input(i));
      outputs.emplace_back(from, from + kElements);
    }
  }
  bool passes() const {
    std::vector<const void*> host;
    for (std::size_t i = 0; i < operands.size(); ++i)
      host.push_back(i % 2 == 0 ? inputs.input(i) : outputs[i / 2].data());
    return inputs.judge(host).passed();
  }
};

TEST_P(Transfer, WhatWentPassesAndOneBitLessDoesNot) {
  EXPECT_TRUE(passes());
  for (std::vector<std::uint32_t>& output : outputs)
    for (const std::size_t at : {std::size_t{0}, output.size() - 1}) {
      output[at] ^= 1;
      EXPECT_FALSE(passes()) << at;
      output[at] ^= 1;
    }
  EXPECT_TRUE(passes());
}

TEST_P(Transfer, EachCopyHasOneEndOnTheHost) {
  for (std::size_t i = 0; i < operands.size(); i += 2)
    EXPECT_NE(operands[i].place == Place::device, operands[i + 1].place == Place::device);
  EXPECT_EQ(problem.compulsory_bytes(sizes), 4.0 * kElements * static_cast<double>(operands.size()) / 2);
}

INSTANTIATE_TEST_SUITE_P(Directions, Transfer, testing::ValuesIn(words({"to_gpu", "from_gpu", "both"})));

TEST(Pipeline, OneStepMoreOrLessFails) {
  const Problem& problem = find_problem("pipeline");
  for (const DataSet& data : problem.data) {
    const HostInputs inputs(problem, problem.complete({{"n", kElements}, {"steps", 64}}), data, 11);
    const auto* x = static_cast<const float*>(inputs.input(0));
    const auto* c = static_cast<const float*>(inputs.input(1));
    for (const int steps : {62, 63, 64, 65, 66}) {
      std::vector<float> y(x, x + kElements);
      for (float& value : y)
        for (int step = 0; step < steps; ++step) value = value * c[step % 2 * 2] + c[step % 2 * 2 + 1];
      const void* const host[] = {x, c, y.data()};
      // On reals every second step undoes the one before, so that whole pairs leave no trace.
      const bool is_right = steps == 64 || (!data.is_exact && steps % 2 == 0);
      EXPECT_EQ(inputs.judge(host).passed(), is_right) << data.name << ", " << steps << " steps";
    }
  }
}

TEST(Pipeline, StepsAreWholeGroups) {
  EXPECT_THROW(find_problem("pipeline").complete({{"n", 5}, {"steps", 17}}), Error);
  EXPECT_THROW(find_problem("transfer").complete({{"n", 5}}), Error);
}

TEST(Timeline, StandsInOneEntryOfThePoint) {
  const Point point = point_of(find_kernel("cpu/pipeline/openmp"), {{"n", 100}, {"steps", 16}});
  Measurement measurement;
  measurement.samples.resize(3, {.seconds = 1e-3});
  const PointFacts facts{.timeline = {{"copy in", 0, 0.0, 1e-3}, {"kernel", 1, 1e-3, 2e-3}}};
  const std::vector<Json> entries = sample_entries(point, measurement, facts);
  ASSERT_EQ(entries.size(), 3u);
  ASSERT_TRUE(entries[0].contains("timeline"));
  EXPECT_EQ(entries[0]["timeline"][1], (Json{{"what", "kernel"}, {"stream", 1}, {"begin", 1e-3}, {"end", 2e-3}}));
  EXPECT_FALSE(entries[1].contains("timeline") || entries[2].contains("timeline"));
}

}  // namespace
}  // namespace rung
