/// The worked examples of the three lectures that the calculators answer, in addition to model_test.cpp: Zhou,
/// CUDA/GPU Programming (2), 2015; Blakely, Writing and Compiling a CUDA Code; Imam and others, IF3230, 2022. And the
/// phases of figure 4.15 of PMPP's 3rd edition.
#include <gtest/gtest.h>

#include "common/model/bound.hpp"
#include "common/model/tile.hpp"

namespace rung {
namespace {

TEST(Zhou2015, FirstOrderSizes) {  // 16x16 tiles: 256 threads, 512 loads for 8K operations
  const SharedTile tile = make_tile(16, 4);
  EXPECT_EQ(tile.threads(), 256);
  EXPECT_EQ(tile.loads(), 512);
  EXPECT_EQ(tile.shared_bytes(), 2 * 1024);
  // 256 x (2 x 16) = 8192 counts a multiplication and an addition apart; they are 4096 multiply-adds.
  EXPECT_EQ(2 * tile.multiply_adds(), 8192);
}

TEST(Zhou2015, WidestTile) {  // by the limit of 512 threads on G80 and GT200, 1024 from Fermi on
  const auto widest = [](int major, int minor) { return widest_tile(sm_limits(major, minor), 4, 0, 0); };
  EXPECT_EQ(widest(1, 0), 22);
  EXPECT_EQ(widest(1, 3), 22);
  EXPECT_EQ(widest(2, 0), 32);
  EXPECT_EQ(widest(9, 0), 32);
}

TEST(Zhou2015, MatrixMultiplyOnK40) {
  // The slide calls 288 GB/s G80's bandwidth. It is the K40's; G80's is 86.4, as the slide on global memory says.
  EXPECT_DOUBLE_EQ(find_device("K40").dram_gbytes_per_s, 288);
  EXPECT_DOUBLE_EQ(find_device("G80").dram_gbytes_per_s, 86.4);
  // The slide's peak of 5000 GFLOPS is the boost clock's, rounded.
  EXPECT_NEAR(*peak_gflops(find_device("K40"), "fp32"), 5000, 50);
}

TEST(Zhou2015, TiledOnG80IsAtThePeak) {
  // The slide calls 345.6 close to the peak of 346.5. 128 units x 2 x 1.35 GHz are 345.6: the tiles' ratio is the
  // ridge.
  EXPECT_DOUBLE_EQ(find_device("G80").peak_fp32_gflops, 345.6);
  EXPECT_NEAR(ridge_op_per_byte(345.6, 86.4), 4, 1e-12);
}

TEST(Imam2022, CoresOfGtx780AndRtx3080) {  // 12 SMs of 192 cores; 8704 cores
  EXPECT_EQ(find_device("GTX 780").sm_count, 12);
  EXPECT_EQ(find_device("RTX 3080").sm_count * 128, 8704);
}

TEST(Blakely, PeakBandwidthsAreWhatCopiesReach) {
  // The slides' peaks, 147 GB/s on the K20c and 27 on the K620, are below the boards' 208 and 29: measured ones.
  EXPECT_NEAR(147 / find_device("K20c").dram_gbytes_per_s, 0.71, 0.01);
  EXPECT_NEAR(27 / find_device("Quadro K620").dram_gbytes_per_s, 0.93, 0.01);
}

TEST(Pmpp3Figure4_15, PhasesOfTilesOf2) {  // four threads load eight elements in a phase and do eight multiply-adds
  const SharedTile tile = make_tile(2, 4);
  EXPECT_EQ(tile.threads(), 4);
  EXPECT_EQ(tile.loads(), 8);
  EXPECT_EQ(tile.multiply_adds(), 8);
}

}  // namespace
}  // namespace rung
