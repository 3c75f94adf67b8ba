/// The GPU rungs that take any product: their declared counts against the emulator's counts, at sizes that are no
/// multiple of anything, with leading dimensions, factors and shifts; how the top rung distributes its work; and the
/// recipes that it chooses. None of this needs a GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "common/harness/count.hpp"
#include "gpu/matmul/tma/engine/top_recipes.hpp"
#include "tests/emulator/emulator_support.hpp"

namespace rung {
namespace {

// --- every emulated general rung ----------------------------------------------------------------------------------

std::vector<const Kernel*> general_rungs() {
  std::vector<const Kernel*> found;
  for (const Kernel* kernel : match_kernels("gpu/matmul/*"))
    if (kernel->is_general && kernel->gpu.not_emulated.empty()) found.push_back(kernel);
  return found;
}

/// Rows of A, B and C that begin at multiples of 16 bytes and rows that do not, in one matrix and in all; C read and
/// not; A and B not read; one row, one column, one step in k.
std::vector<Params> general_sizes() {
  return {
      {{"m", 130}, {"n", 141}, {"k", 17}},
      {{"m", 129}, {"n", 132}, {"k", 36}, {"alpha", -1}, {"beta", 2}},
      {{"m", 33}, {"n", 20}, {"k", 45}, {"lda", 47}, {"ldb", 48}, {"ldc", 21}, {"alpha", 2}},
      {{"m", 33}, {"n", 20}, {"k", 12}, {"lda", 16}, {"ldb", 24}, {"ldc", 32}, {"beta", -3}},
      {{"m", 20}, {"n", 24}, {"k", 16}, {"shift", 1}, {"beta", 1}},
      {{"m", 20}, {"n", 24}, {"k", 16}, {"shift", 4}},
      {{"m", 19}, {"n", 40}, {"k", 9}, {"ldb", 43}, {"alpha", 0}, {"beta", 3}},
      {{"m", 19}, {"n", 40}, {"k", 9}, {"alpha", 0}},
      {{"m", 1}, {"n", 70}, {"k", 5}},
      {{"m", 70}, {"n", 1}, {"k", 5}, {"shift", 63}},
      {{"m", 37}, {"n", 66}, {"k", 1}},
  };
}

/// The same for a kernel that only takes few rows or few columns.
std::vector<Params> sizes_for(const Kernel& kernel) {
  std::vector<Params> all = general_sizes();
  for (Params& one : all)
    for (const char* size : {"m", "n"})
      if (!refusal(kernel, point_of(kernel, one).params()).empty())
        one.set(size, std::min<std::int64_t>(one.at(size), 13));
  return all;
}

class EveryGeneralRung : public testing::TestWithParam<const Kernel*> {};

TEST_P(EveryGeneralRung, AsksForTheBytesItDeclares) {
  const Kernel& kernel = *GetParam();
  for (const Params& given : sizes_for(kernel)) {
    SCOPED_TRACE(kernel.name + "/" + given.text());
    const Params params = point_of(kernel, given).params();
    ASSERT_EQ(refusal(kernel, params), "");
    const auto [counts, check] = count(point_of(kernel, given));
    EXPECT_TRUE(check.passed()) << check.reason();
    EXPECT_EQ(double(counts.bytes_loaded), kernel.gpu.requested(params).loaded);
    EXPECT_EQ(double(counts.bytes_stored), kernel.gpu.requested(params).stored);
  }
}

TEST_P(EveryGeneralRung, HasNoHazard) {
  const Kernel& kernel = *GetParam();
  for (const Params& given : sizes_for(kernel))
    for (const Order order : {Order::forward, Order::random}) {
      SCOPED_TRACE(kernel.name + "/" + given.text());
      const auto [counts, check] = count(point_of(kernel, given), {.order = order, .counting = false, .hazards = true});
      EXPECT_TRUE(counts.findings.empty()) << counts.findings.front().text();
      EXPECT_TRUE(check.passed()) << check.reason();
    }
}

std::string rung_name(const testing::TestParamInfo<const Kernel*>& info) {
  return info.param->name.substr(info.param->name.rfind('/') + 1);
}

INSTANTIATE_TEST_SUITE_P(Registry, EveryGeneralRung, testing::ValuesIn(general_rungs()), rung_name);

TEST(GeneralRungs, AreTheWholeLadder) { EXPECT_GE(general_rungs().size(), 7u); }

// --- what vector instructions and layouts bring ---------------------------------------------------------------------

Counts square(const char* kernel) { return count(point_of(find_kernel(kernel), {{"n", 128}})).counts; }

TEST(VectorisedRung, MovesFourElementsWithAnInstruction) {
  const Counts before = square("gpu/matmul/register_2d"), after = square("gpu/matmul/vectorised");
  EXPECT_EQ(after.bytes_loaded, before.bytes_loaded);
  EXPECT_EQ(after.load_requests * 4, before.load_requests);
  EXPECT_EQ(after.shared_load_requests * 4, before.shared_load_requests);
}

TEST(ConflictFreeRung, HasTheFewestWavefronts) {
  const Counts before = square("gpu/matmul/vectorised"), after = square("gpu/matmul/conflict_free");
  EXPECT_EQ(after.shared_load_requests, before.shared_load_requests);
  EXPECT_LT(after.shared_load_wavefronts, before.shared_load_wavefronts);
  EXPECT_LT(after.shared_store_wavefronts, before.shared_store_wavefronts);
}

TEST(WarpTiledRung, MeetsAtBarriersHalfAsOften) {
  const Counts before = square("gpu/matmul/conflict_free"), after = square("gpu/matmul/warp_tiled");
  EXPECT_EQ(after.fp32.fmas, before.fp32.fmas);
  EXPECT_EQ(after.shared_load_requests, before.shared_load_requests);
  EXPECT_LE(after.shared_load_wavefronts, before.shared_load_wavefronts);
  EXPECT_EQ(after.barriers * 2, before.barriers);
}

TEST(CpAsyncRung, CopiesBAsynchronouslyWithOneBarrierAPhase) {
  const Counts before = square("gpu/matmul/conflict_free"), after = square("gpu/matmul/cp_async");
  EXPECT_EQ(after.bytes_loaded, before.bytes_loaded);
  EXPECT_EQ(after.load_requests * 2, before.load_requests);
  EXPECT_EQ(after.async_requests * 2, before.load_requests);
  EXPECT_EQ(after.barriers * 2, before.barriers);
}

TEST(Strassen, IsOverTheKernelsThatItsRecordsName) {
  for (const auto& [name, base_name] :
       {std::pair{"gpu/matmul/strassen", "gpu/matmul/warp_tiled"}, {"gpu/matmul/strassen_top", "gpu/matmul/top"}})
    for (const int levels : {1, 2}) {
      const Kernel &kernel = find_kernel(name), &base = find_kernel(base_name);
      const Params params = point_of(kernel, {{"n", 512}, {"levels", levels}}).params();
      EXPECT_EQ(kernel.gpu.launch(params), base.gpu.launch(point_of(base, {{"n", 512 >> levels}}).params())) << name;
    }
}

// --- how the work is shared out -----------------------------------------------------------------------------------

/// Adds 1 to the count of each stage of each tile of this block, and counts the stages that it reports.
__global__ void deal(mem<int>* dealt, mem<int>* totals, int tiles, int k_tiles, int parts, bool share) {
  hopper::StreamK schedule(hopper::Work{tiles, k_tiles, parts, share});
  const int total = schedule.total();
  int left = total;
  hopper::Piece piece{};
  while (schedule.next(piece)) {
    for (int k = piece.k0; k < piece.k0 + piece.length; ++k) atomicAdd(&dealt[piece.tile * k_tiles + k], 1);
    left -= piece.length;
  }
  totals[blockIdx.x] = left;
}

struct Deal {
  std::vector<int> dealt, left;
};

Deal deal_out(int blocks, int tiles, int k_tiles, int parts, bool share) {
  const std::size_t stages = std::size_t(tiles) * k_tiles, count = blocks;
  Array<int> dealt(stages), left(count);
  counted({{static_cast<unsigned>(blocks)}, {1}}, {}, deal, dealt.on_device(), left.on_device(), tiles, k_tiles, parts,
          share);
  return {{&dealt[0], &dealt[0] + stages}, {&left[0], &left[0] + count}};
}

TEST(StreamK, DealsEachStageOfEachTileOnce) {
  for (const int tiles : {1, 2, 3, 7, 8, 9, 15, 16, 17, 40})
    for (const int k_tiles : {1, 2, 5, 16, 33})
      for (const int blocks : {1, 3, 8})
        for (const bool share : {false, true}) {
          SCOPED_TRACE(testing::Message()
                       << tiles << " tiles of " << k_tiles << ", " << blocks << " blocks, " << share);
          const Deal deal = deal_out(blocks, tiles, k_tiles, 1, share);
          EXPECT_EQ(deal.dealt, std::vector<int>(deal.dealt.size(), 1));
          EXPECT_EQ(deal.left, std::vector<int>(blocks, 0));
        }
}

/// A block that waits for another's part sees the data that is released while it waits: at this size the emulator once
/// checked the flag before it switched to another block, and reported reading the parts as a race.
TEST(StreamK, ReadsThePartsOfOthersWithoutAHazard) {
  const char* const recipe = "128x256_stream_k";
  const Value value(static_cast<std::int64_t>(hopper::recipe_called(recipe)), recipe);
  const Params given{{"m", 300}, {"n", 77}, {"k", 65}, {"recipe", value}};
  for (const Order order : {Order::forward, Order::reverse, Order::random}) {
    SCOPED_TRACE(static_cast<int>(order));
    const auto [counts, check] =
        count(point_of(find_kernel("gpu/matmul/top"), given), {.order = order, .counting = false, .hazards = true});
    EXPECT_TRUE(counts.findings.empty()) << counts.findings.front().text();
    EXPECT_TRUE(check.passed()) << check.reason();
  }
}

TEST(StreamK, SplitsEachTileIntoParts) {
  for (const int tiles : {1, 2, 5})
    for (const int k_tiles : {4, 7, 33})
      for (const int parts : {2, 3, 4}) {
        const Deal deal = deal_out(tiles * parts, tiles, k_tiles, parts, false);
        EXPECT_EQ(deal.dealt, std::vector<int>(deal.dealt.size(), 1));
        EXPECT_EQ(deal.left, std::vector<int>(tiles * parts, 0));
      }
}

TEST(StreamK, OrdersTilesInGroupsOfEightRows) {
  for (const int rows : {1, 3, 8, 9, 17})
    for (const int cols : {1, 2, 5}) {
      std::vector<int> met(rows * cols);
      for (int tile = 0; tile < rows * cols; ++tile) {
        const hopper::Place place = hopper::grouped_place(tile, rows, cols);
        ASSERT_GE(place.row, 0);
        ASSERT_LT(place.row, rows);
        ASSERT_GE(place.col, 0);
        ASSERT_LT(place.col, cols);
        ++met[place.row * cols + place.col];
      }
      EXPECT_EQ(met, std::vector<int>(met.size(), 1));
    }
  const hopper::Place ninth = hopper::grouped_place(8, 16, 4);
  EXPECT_EQ(ninth.row, 0);
  EXPECT_EQ(ninth.col, 1);
}

// --- what the top rung chooses --------------------------------------------------------------------------------------

TEST(TopRung, TakesTheTablesEntryAtATunedSize) {
  for (const hopper::Tuned& tuned : hopper::kTuned) {
    const bool copied = hopper::is_copied(tuned.k, tuned.n);
    EXPECT_EQ(hopper::nearest_recipe({tuned.m, tuned.n, tuned.k}, copied), hopper::recipe_called(tuned.recipe));
    EXPECT_NE(hopper::recipe_called(tuned.recipe), hopper::Recipe::by_table);
  }
}

TEST(TopRung, TakesTheNearestEntryElsewhere) {
  const hopper::Tuned& last = *std::max_element(std::begin(hopper::kTuned), std::end(hopper::kTuned),
                                                [](const auto& x, const auto& y) { return x.m < y.m; });
  const hopper::Recipe recipe = hopper::recipe_called(last.recipe);
  EXPECT_EQ(hopper::nearest_recipe({last.m + 4, last.n - 4, last.k + 8}, false), recipe);
  EXPECT_EQ(hopper::nearest_recipe({30000, 30000, 30000}, false), recipe);
}

TEST(TopRung, TakesAnEntryWhoseTilesAreLoadedInTheSameWay) {
  const Problem& matmul = find_problem("matmul");
  const auto nearest = [](int n, bool copied) { return hopper::nearest_recipe({n, n, n}, copied); };
  for (const int n : {1000, 1023, 1024, 1025, 1536, 1537})
    EXPECT_EQ(hopper::recipe_of(matmul.complete({{"n", n}})), nearest(n, n % 4 != 0)) << n;
  ASSERT_NE(nearest(1024, true), nearest(1024, false));
  for (const char* name : {"lda", "ldb"})
    EXPECT_EQ(hopper::recipe_of(matmul.complete({{"n", 1024}, {name, 1025}})), nearest(1024, true)) << name;
  EXPECT_EQ(hopper::recipe_of(matmul.complete({{"n", 1024}, {"shift", 1}})), nearest(1024, true));
  EXPECT_EQ(hopper::recipe_of(matmul.complete({{"n", 1024}, {"ldc", 1025}})), nearest(1024, false));
}

TEST(TopRung, GoesTheWayItIsTold) {
  Params p = find_problem("matmul").complete({{"n", 1024}});
  p.set("recipe", static_cast<int>(hopper::Recipe::tiny));
  const Kernel& top = find_kernel("gpu/matmul/top");
  EXPECT_EQ(top.gpu.launch(p).block.x, unsigned(hopper::Tile32x32::kShape.threads()));
  p.set("recipe", static_cast<int>(hopper::Recipe::large));
  EXPECT_EQ(top.gpu.launch(p).block.x, unsigned(hopper::Tile128x256::kShape.threads()));
}

}  // namespace
}  // namespace rung
