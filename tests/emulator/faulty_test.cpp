/// The planted faults in the emulator: each is found and named in every order of execution; right twins have no
/// findings.
#include <gtest/gtest.h>
#include <omp.h>
#include <sys/resource.h>

#include <algorithm>
#include <set>

#include "tests/emulator/faulty/emulated_run.hpp"

namespace rung {

/// How GoogleTest prints a parameter.
void PrintTo(const Faulty& faulty, std::ostream* out) { *out << faulty.file << " " << faulty.name; }

namespace {

class FaultyKernels : public testing::TestWithParam<Faulty> {};

std::string listed(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings) text += "  " + finding.text() + "\n";
  return text.empty() ? "  nothing\n" : text;
}

TEST_P(FaultyKernels, AreFoundAndTheirTwinsAreNot) {
  const Faulty& faulty = GetParam();
  for (const Order order : {Order::forward, Order::reverse, Order::random}) {
    const std::vector<Finding> found = findings_of(faulty, order);
    const std::string text = "order " + std::to_string(static_cast<int>(order)) + ", found:\n" + listed(found);
    if (faulty.is_right()) {
      EXPECT_TRUE(found.empty()) << text;
      continue;
    }
    EXPECT_TRUE(std::any_of(found.begin(), found.end(), [&](const Finding& f) { return names(f, faulty); })) << text;
    for (const Finding& finding : found) {
      EXPECT_NE(finding.first, "") << text;
      EXPECT_GE(finding.occurrences, 1u) << text;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, FaultyKernels, testing::ValuesIn(faulty_kernels()),
                         [](const auto& entry) { return entry.param.name; });

TEST(FaultyList, IsLargeAndItsEntriesAreWhole) {
  std::set<std::string> names, files;
  int faults = 0, twins = 0;
  for (const Faulty& faulty : faulty_kernels()) {
    EXPECT_TRUE(names.insert(faulty.name).second) << faulty.name << " is there twice";
    EXPECT_TRUE(faulty.run) << faulty.name;
    EXPECT_NE(faulty.what, "") << faulty.name;
    EXPECT_FALSE(faulty.buffers.empty()) << faulty.name;
    files.insert(faulty.file);
    ++(faulty.is_right() ? twins : faults);
  }
  EXPECT_GE(faults, 28);
  EXPECT_GE(twins, 28);
  EXPECT_EQ(files, (std::set<std::string>{"barriers.cu", "blocks.cu", "bounds.cu", "bulk_copies.sm90a.cu", "copies.cu",
                                          "divergence.cu", "heap.cu", "textbook.cu", "uninitialised.cu"}));
}

/// PMPP 3e, figure 4.20: as printed every element is wrong, by the previous phase's contents of the tiles.
double processor_seconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return double(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
         1e-6 * double(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

// Blocks on as many threads of the machine as it may have processors poll one element.
TEST(FaultyList, BlocksThatWaitForEverRestAndAreEndedTogether) {
  const auto waiting = std::ranges::find(faulty_kernels(), "waits_for_blocks_not_started", &Faulty::name);
  ASSERT_NE(waiting, faulty_kernels().end());
  const FaultyCall buffers(*waiting);
  const int threads = omp_get_max_threads();
  omp_set_num_threads(16);
  Recording recording({.hazards = true, .budget = 1 << 24});
  const double before = processor_seconds();
  waiting->run(buffers.call());
  EXPECT_LT(processor_seconds() - before, 8) << "of processor time; 16 threads that run all the time take minutes";
  omp_set_num_threads(threads);
  ASSERT_FALSE(recording.counts().findings.empty());
  EXPECT_EQ(recording.counts().findings.back().kind, finding_kind::runaway);
}

TEST(FaultyList, TheFigureWithoutZerosGivesWrongElementsOnly) {
  const auto& all = faulty_kernels();
  const auto figure =
      std::find_if(all.begin(), all.end(), [](const Faulty& f) { return f.name == "tiled_product_without_zeros"; });
  ASSERT_NE(figure, all.end());
  for (const Order order : {Order::forward, Order::reverse, Order::random}) {
    EXPECT_EQ(result_of(*twin_of(*figure), order), (std::vector<float>{84, 90, 96, 201, 216, 231, 318, 342, 366}));
    EXPECT_EQ(result_of(*figure, order), (std::vector<float>{110, 118, 126, 266, 286, 306, 422, 454, 486}));
    EXPECT_EQ(wrong_elements(*figure, order), 9);
  }
}

TEST(FaultyList, AFaultIsNamedOnlyByItsKindBufferAndFile) {
  const Faulty faulty{.name = "x", .findings = {"read after write"}, .buffer = "tile", .file = "x.cu"};
  const Finding right{.kind = finding_kind::read_after_write, .buffer = "tile", .first = "block 0, read at x.cu:7"};
  EXPECT_TRUE(names(right, faulty));
  Finding other = right;
  other.kind = finding_kind::write_after_read;
  EXPECT_FALSE(names(other, faulty));
  other = right;
  other.buffer = "bins";
  EXPECT_FALSE(names(other, faulty));
  other = right;
  other.first = "block 0, read at ?";
  EXPECT_FALSE(names(other, faulty));
}

}  // namespace
}  // namespace rung
