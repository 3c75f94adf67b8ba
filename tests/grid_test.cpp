/// How threads share a product: each element once, and nobody waits long for the last part.
#include "cpu/matmul/grid.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace rung {
namespace {

constexpr int kLeast = 112;

GuidedParts guided(int threads, int m, int n, int row_unit = 14, int least = kLeast) {
  return {grid_for(threads, m, n), m, n, row_unit, least, 16};
}

TEST(GuidedParts, CoverEachElementOnce) {
  for (const int threads : {1, 2, 3, 4, 7, 16, 61})
    for (const int m : {1, 13, 223, 224, 225, 1000, 2047, 4096})
      for (const int n : {1, 15, 333}) {
        const GuidedParts parts = guided(threads, m, n);
        std::vector<int> at(static_cast<std::size_t>(m) * n);
        for (int i = 0; i < parts.count(); ++i) {
          const Part rows = parts.rows(i), columns = parts.columns(i);
          for (int row = rows.begin; row < rows.end; ++row)
            for (int col = columns.begin; col < columns.end; ++col) ++at[static_cast<std::size_t>(row) * n + col];
        }
        EXPECT_EQ(std::count(at.begin(), at.end(), 1), std::ssize(at)) << threads << " threads, " << m << " x " << n;
      }
}

TEST(GuidedParts, BecomeShorterDownToTheLeast) {
  for (const int threads : {2, 4, 16})
    for (const int m : {1000, 2047, 4096, 16384}) {
      const GuidedParts parts = guided(threads, m, m);
      const std::string at = std::to_string(threads) + " threads, m " + std::to_string(m);
      if (parts.count() == threads) continue;  // evenly
      const int even = m / parts.grid().down;
      for (int i = 0; i < parts.count(); ++i) {
        const int rows = parts.rows(i).size();
        EXPECT_LE(rows, 2 * even / 3 + 14 + kLeast / 2) << at << ", part " << i;
        EXPECT_GE(rows, kLeast / 2) << at << ", part " << i;
      }
      EXPECT_LE(parts.rows(parts.count() - 1).size(), kLeast + kLeast / 2 + 14) << at;
    }
}

TEST(GuidedParts, FewRowsAreSharedOutEvenly) {
  const GuidedParts parts = guided(16, 800, 800);
  EXPECT_EQ(parts.count(), 16);
  for (int i = 0; i < parts.count(); ++i) EXPECT_EQ(parts.rows(i).size(), 200);
}

/// One core of sixteen at half the speed of the others: an even grid takes almost twice as long as if the work could be
/// divided at will; these parts a third longer, which is what the slow core takes for its first one.
TEST(GuidedParts, ASlowCoreHoldsNobodyUpForLong) {
  constexpr int kThreads = 16;
  const auto takes = [](const GuidedParts& parts) {
    std::vector<double> ends(kThreads, 0.0);
    double work = 0;
    for (int i = 0; i < parts.count(); ++i) {
      const double size = double(parts.rows(i).size()) * parts.columns(i).size();
      const auto next = std::min_element(ends.begin(), ends.end());
      *next += next == ends.begin() ? 2 * size : size;
      work += size;
    }
    return *std::max_element(ends.begin(), ends.end()) / (work / (kThreads - 0.5));
  };
  EXPECT_LT(takes(guided(kThreads, 4096, 4096)), 1.35);
  EXPECT_GT(takes(guided(kThreads, 4096, 4096, 14, 4096)), 1.9);  // evenly
}

}  // namespace
}  // namespace rung
