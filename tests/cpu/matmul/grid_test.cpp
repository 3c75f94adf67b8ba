/// How threads share a product: each element once, and no thread waits long for the last part.
#include "cpu/matmul/grid.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

namespace rung {
namespace {

constexpr int kHigh = 14, kWide = 32;  // a tile

std::vector<Piece> guided(int threads, int m, int n) {
  return all_pieces(GuidedPieces(grid_for(threads, m, n), m, n, kHigh, kWide));
}
std::vector<Piece> evenly(int threads, int m, int n) {
  return all_pieces(EvenPieces(grid_for(threads, m, n), m, n, 1, 1));
}

TEST(GuidedPieces, CoverEachElementOnce) {
  for (const int threads : {1, 2, 3, 4, 7, 16, 61})
    for (const int m : {0, 1, 13, 223, 224, 225, 1000, 2047, 4096})
      for (const int n : {0, 1, 15, 333, 2048}) {
        std::vector<int> at(static_cast<std::size_t>(m) * n);
        for (const auto& [rows, columns] : guided(threads, m, n))
          for (int row = rows.begin; row < rows.end; ++row)
            for (int col = columns.begin; col < columns.end; ++col) ++at[static_cast<std::size_t>(row) * n + col];
        EXPECT_EQ(std::count(at.begin(), at.end(), 1), std::ssize(at)) << threads << " threads, " << m << " x " << n;
      }
}

TEST(GuidedPieces, BecomeSmallerDownToTheLeast) {
  for (const int threads : {2, 4, 16})
    for (const int m : {512, 1000, 2047, 4096, 16384})
      for (const int n : {64, 1000, 4096}) {
        const std::vector<Piece> pieces = guided(threads, m, n);
        const std::string at = std::to_string(threads) + " threads, " + std::to_string(m) + " x " + std::to_string(n);
        std::int64_t left = std::int64_t{m} * n;
        for (const Piece& piece : pieces) {
          EXPECT_GE(piece.rows.size(), 2 * kHigh) << at;
          // Two thirds of a share in whole tiles, which may be half as much again; or as narrow as can be.
          const std::int64_t share = 2 * left / (3 * threads);
          const bool is_narrow = piece.columns.size() <= kWide + kWide / 2;
          EXPECT_TRUE(is_narrow || piece.size() <= 8 * share / 5) << at << ", " << left << " left";
          left -= piece.size();
        }
        EXPECT_LE(pieces.back().size(), 12 * kHigh * (kWide + kWide / 2)) << at;
      }
}

TEST(GuidedPieces, AreReachedInStepsOfAnyLength) {
  const std::vector<Piece> all = guided(16, 1000, 1000);
  GuidedPieces pieces(grid_for(16, 1000, 1000), 1000, 1000, kHigh, kWide);
  int last = 0;
  for (int i = 3; i < std::ssize(all); i += 1 + i % 5) {
    last = i;
    ASSERT_TRUE(pieces.reach(i));
    ASSERT_TRUE(pieces.reach(i));  // again
    EXPECT_EQ(pieces.piece().rows.begin, all[static_cast<std::size_t>(i)].rows.begin);
    EXPECT_EQ(pieces.piece().columns.end, all[static_cast<std::size_t>(i)].columns.end);
  }
  EXPECT_GT(last, 16);
  EXPECT_FALSE(pieces.reach(static_cast<int>(all.size())));
  EXPECT_FALSE(pieces.reach(static_cast<int>(all.size()) + 40));
}

TEST(GuidedPieces, SmallProductsAreSharedOutEvenly) {
  for (const int size : {16, 64, 200}) {
    const std::vector<Piece> pieces = guided(16, size, size);
    ASSERT_EQ(pieces.size(), 16u) << size;
    for (const Piece& piece : pieces) EXPECT_EQ(piece.rows.size(), size / 4) << size;
  }
}

/// The longest that one of 16 threads takes, over what it would be if the work could be divided at will.
double longest(const std::vector<Piece>& pieces, const std::vector<double>& speeds) {
  std::vector<double> ends(speeds.size(), 0.0);
  double work = 0;
  for (const Piece& piece : pieces) {
    const auto next = std::min_element(ends.begin(), ends.end());
    *next += double(piece.size()) / speeds[static_cast<std::size_t>(next - ends.begin())];
    work += double(piece.size());
  }
  return *std::max_element(ends.begin(), ends.end()) / (work / std::accumulate(speeds.begin(), speeds.end(), 0.0));
}

TEST(GuidedPieces, ASlowCoreHoldsNobodyUpForLong) {
  std::vector<double> one_slow(16, 1.0);
  one_slow.front() = 0.5;
  EXPECT_GT(longest(evenly(16, 4096, 4096), one_slow), 1.9);
  EXPECT_LT(longest(guided(16, 4096, 4096), one_slow), 1.33);  // the time of its first piece
  // GFLOP/s of the threads of a virtual machine on a shared host, in one product.
  const std::vector<double> measured = {102, 98, 134, 135, 129, 69, 97, 68, 69, 133, 85, 103, 107, 132, 84, 70};
  EXPECT_GT(longest(evenly(16, 1024, 1024), measured), 1.45);
  EXPECT_LT(longest(guided(16, 1024, 1024), measured), 1.1);
  EXPECT_LT(longest(guided(16, 4096, 4096), measured), 1.03);
}

}  // namespace
}  // namespace rung
