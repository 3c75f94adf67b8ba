/// Points measured together: their samples are interleaved, and the others are measured when one fails.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <thread>
#include <utility>

#include "common/harness/experiment.hpp"
#include "common/harness/measure.hpp"
#include "common/harness/point_runner.hpp"
#include "tests/fake_target.hpp"
#include "tests/temporary_folder.hpp"

namespace rung {
namespace {

const std::map<std::string, double> kThree{{"cpu/none/a", 1e-3}, {"cpu/none/b", 2e-3}, {"cpu/none/c_noisy", 4e-3}};

struct ThreeSides {
  FakeTarget target{kThree};
  std::vector<Kernel> kernels;
  std::vector<Sampler> samplers;

  explicit ThreeSides(const Effort& effort = {}, const Overrides& overrides = {}) {
    for (const auto& [name, seconds] : kThree) kernels.push_back(FakeTarget::kernel(name));
    for (const Kernel& kernel : kernels)
      samplers.emplace_back(kernel.name, target, kernel, Call{}, Mode::hot, effort, overrides);
    target.timed.clear();
  }
};

TEST(MeasureTogether, TakesTurnsWithAsManySamplesEach) {
  ThreeSides three;
  const std::vector<Together> results = measure_together(three.samplers, 1);
  ASSERT_EQ(results.size(), 3u);
  for (const Together& one : results) {
    EXPECT_EQ(one.failure, nullptr);
    EXPECT_EQ(one.measurement.samples.size(), 30u) << "until the noisy one may stop";
  }
  EXPECT_EQ(results[0].measurement.stop_reason, "converged");
  EXPECT_EQ(results[2].measurement.stop_reason, "noise stable above target");
  // In every round each has its turn of three, so samples of one index are of one round.
  ASSERT_EQ(three.target.timed.size(), 90u);
  std::set<std::vector<std::string>> orders;
  for (std::size_t round = 0; round < 10; ++round) {
    std::vector<std::string> order;
    for (std::size_t turn = 0; turn < 3; ++turn) {
      const auto first = three.target.timed.begin() + static_cast<std::ptrdiff_t>(9 * round + 3 * turn);
      EXPECT_EQ(std::count(first, first + 3, *first), 3);
      order.push_back(*first);
    }
    orders.insert(order);
    std::sort(order.begin(), order.end());
    EXPECT_EQ(order, (std::vector<std::string>{"cpu/none/a", "cpu/none/b", "cpu/none/c_noisy"}));
  }
  EXPECT_GE(orders.size(), 3u) << "the order changes from round to round";
  EXPECT_EQ(three.target.warmed.size(), 30u) << "before each turn the others rest, and untimed runs";
}

TEST(MeasureTogether, WarmsUpAsLongAsTheSweepSays) {
  ThreeSides three({.min_samples = 3, .max_samples = 3, .warm_up = 0.05});
  const auto start = std::chrono::steady_clock::now();
  measure_together(three.samplers, 1);
  EXPECT_EQ(three.target.warmed.size(), 3u) << "one round";
  EXPECT_GE(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(), 3 * 0.05);
}

TEST(MeasureTogether, TheFirstTurnIsWarmedUpUntilAPowerLimitActs) {
  ThreeSides three({.min_samples = 3, .max_samples = 3, .warm_up = 0.01});
  const auto start = std::chrono::steady_clock::now();
  measure_together(three.samplers, 1);
  EXPECT_GE(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(), 1 + 2 * 0.01);
}

TEST(MeasureTogether, TheSeedGivesTheOrder) {
  const auto order = [](std::uint64_t seed) {
    ThreeSides three;
    measure_together(three.samplers, seed);
    return three.target.timed;
  };
  EXPECT_EQ(order(7), order(7));
  EXPECT_NE(order(7), order(8));
}

TEST(MeasureTogether, DisturbedSamplesAreTakenAgainAndKept) {
  ThreeSides three;
  three.target.disturbs = [](std::size_t interval) { return interval % 3 == 0; };  // of each turn the last
  const auto results = measure_together(three.samplers, 1);
  for (const Together& one : results) {
    EXPECT_EQ(one.measurement.samples.size(), 45u) << "until the noisy one has thirty undisturbed ones";
    EXPECT_TRUE(one.measurement.samples[2].disturbance.is_one());
  }
  EXPECT_EQ(results[0].measurement.stop_reason, "converged");
}

TEST(MeasureTogether, WithoutUndisturbedSamplesNothingConverges) {
  for (const std::size_t together : {1, 3}) {
    ThreeSides three;
    three.target.disturbs = [](std::size_t interval) { return interval % 10 != 0; };
    for (const Together& one : measure_together(std::span(three.samplers).first(together), 1)) {
      EXPECT_EQ(one.measurement.stop_reason, "disturbed");
      EXPECT_LE(one.measurement.samples.size(), 60u + 4);
    }
  }
}

TEST(MeasureTogether, TakesExactlyTheRepetitionsGiven) {
  ThreeSides three({}, {.repetitions = 7, .min_seconds = 1e-4});
  for (const Together& one : measure_together(three.samplers, 1)) {
    EXPECT_EQ(one.measurement.samples.size(), 7u);
    EXPECT_EQ(one.measurement.stop_reason, "repetitions given");
  }
}

TEST(MeasureTogether, StopsWhenTheTimeOfAllIsSpent) {
  ThreeSides three({.min_samples = 6, .max_samples = 1'000'000, .seconds = 0.03});
  three.target.really_takes["cpu/none/a"] = 0.01;  // spends what the noisy one does not
  const auto results = measure_together(three.samplers, 1);
  for (const Together& one : results) {
    EXPECT_GE(one.measurement.samples.size(), 6u);
    EXPECT_LE(one.measurement.samples.size(), 12u) << "0.09 s for the three";
  }
  EXPECT_EQ(results[2].measurement.stop_reason, "wall budget");
}

TEST(MeasureTogether, GoesOnUntilTheRatiosAreKnown) {
  const auto samples = [](double ratio_within, int most) {
    ThreeSides three({.min_samples = 6, .max_samples = most, .seconds = 1e9, .ratio_within = ratio_within});
    const auto results = measure_together(three.samplers, 1);
    for (const Together& one : results)
      EXPECT_EQ(one.measurement.stop_reason, most > 1000 ? "ratios converged" : "noise stable above target");
    EXPECT_EQ(results[0].measurement.samples.size(), results[2].measurement.samples.size());
    return results[2].measurement.samples.size();
  };
  const std::size_t coarse = samples(0.3, 100'000), fine = samples(0.04, 100'000);
  EXPECT_GT(fine, 2 * coarse) << "the noisy one's ratio takes longer to know well";
  EXPECT_EQ(samples(1e-6, 60), 60u) << "the maximum";
}

TEST(MeasureTogether, RepetitionsGivenAreNotPassedForTheSakeOfRatios) {
  ThreeSides three({.min_samples = 6, .max_samples = 100, .seconds = 10, .ratio_within = 1e-6}, {.repetitions = 7});
  for (const Together& one : measure_together(three.samplers, 1)) EXPECT_EQ(one.measurement.samples.size(), 7u);
}

TEST(MeasureTogether, ASinglePointHasNoRatioToWaitFor) {
  ThreeSides three({.ratio_within = 1e-6});
  const auto results = measure_together(std::span(three.samplers).first(1), 1);
  EXPECT_EQ(results[0].measurement.stop_reason, "converged");
}

TEST(MeasureTogether, OneThatFailsLeavesTheOthers) {
  ThreeSides three;
  three.target.fails_after["cpu/none/b"] = 4;
  const auto results = measure_together(three.samplers, 1);
  EXPECT_THROW(std::rethrow_exception(results[1].failure), Error);
  for (const std::size_t other : {0, 2}) {
    EXPECT_EQ(results[other].failure, nullptr);
    EXPECT_EQ(results[other].measurement.samples.size(), 30u);
  }
}

TEST(MeasureTogether, ALostDeviceEndsAllButIsTheFailureOfOne) {
  ThreeSides three;
  three.target.fails_after["cpu/none/b"] = 4;
  three.target.loses_device = true;
  const auto results = measure_together(three.samplers, 1);
  EXPECT_THROW(std::rethrow_exception(results[1].failure), DeviceLost);
  EXPECT_EQ(results[0].failure, nullptr);
  EXPECT_TRUE(results[0].measurement.samples.empty());
}

// ---- Groups of an experiment ----

std::vector<Point> points_of(const std::string& sweeps) {
  const TemporaryFolder folder;
  return load_experiment(folder.write("test.toml", sweeps)).points;
}

TEST(Interleave, GroupsWhatComputesTheSameOnOneSideWithAsManyThreads) {
  const std::vector<Point> points = points_of(
      "[[sweep]]\nkernels = ['cpu/matmul/naive', 'cpu/matmul/openblas', 'gpu/matmul/naive']\nn = [4, 8]\n"
      "threads = [1, 2]\nmode = ['hot', 'cold']\ninterleave = true\n"
      "[[sweep]]\nkernels = ['cpu/matmul/eigen']\nn = [4]\nthreads = 1\ninterleave = true\n"
      "[[sweep]]\nkernels = ['cpu/matmul/interchanged']\nn = [4]\n");
  std::map<int, std::vector<const Point*>> groups;
  for (const Point& point : points) groups[point.group].push_back(&point);
  ASSERT_EQ(groups[0].size(), 1u);
  EXPECT_EQ(groups[0][0]->kernel->name, "cpu/matmul/interchanged");
  groups.erase(0);
  EXPECT_EQ(groups.size(), 8u + 4u + 1u)
      << "sizes x modes x threads on the CPU, sizes x modes on the GPU, the other sweep";
  for (const auto& [number, group] : groups) {
    const Point& first = *group.front();
    EXPECT_EQ(group.size(), first.kernel->side() == "gpu" || first.kernel->name == "cpu/matmul/eigen" ? 1u : 2u);
    for (const Point* point : group) {
      EXPECT_EQ(point->sizes, first.sizes);
      EXPECT_EQ(point->way, first.way);
      EXPECT_EQ(point->threads, first.threads);
    }
  }
}

Effort quick() { return {.min_samples = 6, .max_samples = 6, .seconds = 0.01}; }

/// Points of `kernels` at m = n = k = 5, as one group.
std::vector<Point> group_of(const std::vector<const Kernel*>& kernels) {
  std::vector<Point> points;
  for (const Kernel* kernel : kernels) {
    points.push_back(point_of(*kernel, {{"n", 5}}));
    points.back().effort = quick();
    points.back().threads = 2;
    points.back().group = 1;
  }
  return points;
}

std::vector<PointEntries> run_group(const std::vector<Point>& points) {
  Group group;
  for (const Point& point : points) group.push_back(&point);
  return PointRunner(0, 1, {}).run(group);
}

TEST(Interleave, AFailureOfOneKernelIsItsOwn) {
  Kernel wrong = find_kernel("cpu/matmul/naive"), thrower = wrong, late = wrong, refused = wrong;
  wrong.run = [](const Call& call) { call.operand<float>(2)[0] = 1; };
  thrower.run = [](const Call&) { throw Error("cannot"); };
  int calls = 0;
  late.run = [&calls](const Call& call) {
    find_kernel("cpu/matmul/naive").run(call);
    if (++calls > 2) call.operand<float>(2)[3] += 1;
  };
  const std::vector<Point> points = [&] {
    auto all = group_of(
        {&wrong, &find_kernel("cpu/matmul/naive"), &thrower, &late, &find_kernel("cpu/matmul/eigen"), &refused});
    all.back().skip = "not here";
    return all;
  }();
  const auto results = run_group(points);
  ASSERT_EQ(results.size(), points.size());
  const auto message = [&](std::size_t i) { return results[i].entries.front().value("error_message", ""); };
  EXPECT_NE(message(0).find("before timing"), std::string::npos) << message(0);
  EXPECT_EQ(message(2), "cannot");
  EXPECT_NE(message(3).find("after timing"), std::string::npos) << message(3);
  EXPECT_EQ(results[5].entries.front().value("skip_message", ""), "not here");
  for (const std::size_t good : {1, 4}) {
    ASSERT_GE(results[good].entries.size(), 6u);
    EXPECT_GT(results[good].entries.front().at("gflops"), 0);
    EXPECT_EQ(results[good].entries.front().at("interleaved_with"), 2) << "the other one and the one that failed late";
  }
}

TEST(Interleave, AllAreMeasuredOnTheMemoryOfAll) {
  std::map<std::string, std::set<const void*>> inputs, outputs;
  const auto looks = [&](const std::string& name) {
    Kernel kernel = find_kernel("cpu/matmul/naive");
    kernel.run = [&, name](const Call& call) {
      inputs[name].insert(call.operand<float>(0));
      outputs[name].insert(call.operand<float>(2));
      find_kernel("cpu/matmul/naive").run(call);
    };
    return kernel;
  };
  const Kernel one = looks("one"), other = looks("other");
  std::vector<Point> points = group_of({&one, &find_kernel("cpu/matmul/eigen"), &other});
  for (Point& point : points) point.effort.min_samples = point.effort.max_samples = 60;
  for (const auto& [point, entries] : run_group(points)) EXPECT_GT(entries.front().at("gflops"), 0);
  EXPECT_EQ(inputs["one"].size(), 3u);
  EXPECT_EQ(inputs["one"], inputs["other"]);
  EXPECT_EQ(outputs["one"].size(), 3u);
  EXPECT_EQ(outputs["one"], outputs["other"]);
}

TEST(Interleave, WhereOneWritesIntoAnothersMemoryAllAreMeasuredAlone) {
  constexpr int kLate = 500;  // runs: long after all were verified
  Kernel remembers = find_kernel("cpu/matmul/naive");
  int calls = 0;
  float* first = nullptr;
  remembers.run = [&](const Call& call) {
    find_kernel("cpu/matmul/naive").run(call);
    if (!first) first = call.operand<float>(0);
    if (++calls >= kLate && call.operand<float>(0) != first) *std::exchange(first, call.operand<float>(0)) += 1;
  };
  std::vector<Point> points =
      group_of({&find_kernel("cpu/matmul/naive"), &remembers, &find_kernel("cpu/matmul/eigen")});
  for (Point& point : points) point.effort.min_samples = point.effort.max_samples = 60;
  const auto results = run_group(points);
  ASSERT_EQ(results.size(), 3u);
  for (const std::size_t good : {0, 2}) {
    EXPECT_EQ(results[good].entries.front().value("error_message", ""), "");
    EXPECT_NE(results[good].entries.front().value("not_interleaved", "").find("memory that none"), std::string::npos);
  }
}

TEST(Interleave, AnInputThatAKernelChangesIsItsFault) {
  Kernel changes = find_kernel("cpu/matmul/naive");
  int calls = 0;
  changes.run = [&calls](const Call& call) {
    find_kernel("cpu/matmul/naive").run(call);
    if (++calls > 500) call.operand<float>(0)[0] += 1;
  };
  std::vector<Point> points = group_of({&find_kernel("cpu/matmul/naive"), &changes, &find_kernel("cpu/matmul/eigen")});
  for (Point& point : points) point.effort.min_samples = point.effort.max_samples = 60;
  const auto results = run_group(points);
  const auto message = [&](std::size_t i) { return results[i].entries.front().value("error_message", ""); };
  EXPECT_NE(message(1), "");
  for (const std::size_t good : {0, 2}) EXPECT_EQ(message(good), "");
}

TEST(Interleave, WhatDoesNotFitTogetherIsMeasuredOneByOne) {
  std::vector<Point> points = group_of({&find_kernel("cpu/matmul/naive"), &find_kernel("cpu/matmul/eigen")});
  const auto free = static_cast<std::int64_t>(open_host()->free_bytes());
  Point copy = point_of(find_kernel("cpu/copy/dram"), {{"bytes", free / 5 * 4 / 4096 * 4096}});  // two such arrays
  copy.effort = quick();
  copy.threads = 2;
  copy.group = 1;
  points.push_back(copy);
  const auto results = run_group(points);
  ASSERT_EQ(results.size(), 3u);
  for (const std::size_t small : {0, 1})
    for (const Json& entry : results[small].entries) {
      EXPECT_TRUE(entry.at("not_interleaved").get<std::string>().starts_with("needs ")) << entry;
      EXPECT_FALSE(entry.contains("interleaved_with"));
      EXPECT_GT(entry.at("gflops"), 0);
    }
  EXPECT_TRUE(results[2].entries.front().at("skip_message").get<std::string>().starts_with("needs "));
}

TEST(Interleave, TellsHowManyInEveryEntry) {
  const std::vector<Point> points = group_of({&find_kernel("cpu/matmul/naive"), &find_kernel("cpu/matmul/eigen")});
  for (const auto& [point, entries] : run_group(points))
    for (const Json& entry : entries) {
      EXPECT_EQ(entry.at("interleaved_with"), 1);
      EXPECT_EQ(entry.at("interleave_group"), points.front().name());
      EXPECT_EQ(entry.at("threads"), 2);
    }
  for (const auto& [point, entries] : run_group({points.front()})) {
    EXPECT_FALSE(entries.front().contains("interleaved_with"));
    EXPECT_FALSE(entries.front().contains("interleave_group"));
  }
}

TEST(Interleave, APointWhoseOthersAreLeftOutIsWarmedUpToo) {
  Kernel counted = find_kernel("cpu/matmul/naive");
  int calls = 0;
  counted.run = [&calls](const Call& call) {
    ++calls;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    find_kernel("cpu/matmul/naive").run(call);
  };
  const auto calls_with = [&](double warm_up) {
    std::vector<Point> points = group_of({&counted, &find_kernel("cpu/matmul/eigen")});
    points.back().skip = "not here";
    for (Point& point : points) point.effort.warm_up = warm_up;
    calls = 0;
    EXPECT_GT(run_group(points).front().entries.front().at("gflops"), 0);
    return calls;
  };
  const int cold = calls_with(0);
  EXPECT_GT(calls_with(0.05), 2 * cold) << "runs: a second of them before the first sample";
}

}  // namespace
}  // namespace rung
