/// The GPU rungs that take every layout of A and B: right, without hazards and with the bytes that they declare, in
/// each layout and each compiled shape, at sizes that are no multiple of anything; and the transposing kernel by
/// itself. None of this needs a GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "common/harness/count.hpp"
#include "common/machine/device_facts.hpp"
#include "common/model/devices.hpp"
#include "gpu/matmul/wgmma/engine/wgmma_shapes.hpp"
#include "tests/emulator/emulator_support.hpp"

namespace rung {
namespace {

using enum MatmulLayout;
constexpr MatmulLayout kLayouts[] = {nn, nt, tn};

Params with(Params given, const Params& more) {
  for (const auto& [name, value] : more) given.set(name, value);
  return given;
}

std::vector<const Kernel*> rungs_with_layouts() {
  std::vector<const Kernel*> found;
  for (const Kernel* kernel : match_kernels("gpu/matmul/*"))
    if (std::count(kernel->takes.begin(), kernel->takes.end(), "layout") > 0 && kernel->gpu.not_emulated.empty())
      found.push_back(kernel);
  return found;
}

class EveryRungWithLayouts : public testing::TestWithParam<const Kernel*> {
 protected:
  /// In each layout that it accepts, it must be right and do what it declares. Returns the number of these layouts.
  int expect_right(const Params& given, bool checks_hazards) {
    int right = 0;
    for (const MatmulLayout layout : kLayouts) {
      const Params all = with(given, {{"layout", layout_value(layout)}});
      const Point point = point_of(kernel, all);
      SCOPED_TRACE(point.name());
      if (!refusal(kernel, point.params()).empty()) continue;
      ++right;
      const auto [counts, check] = count(point);
      EXPECT_TRUE(check.passed()) << check.reason();
      const Traffic declared = kernel.gpu.requested(point.params());
      EXPECT_EQ(double(counts.bytes_loaded), declared.loaded);
      EXPECT_EQ(double(counts.bytes_stored), declared.stored);
      if (!checks_hazards) continue;
      const auto whole = count(point_of(kernel, all, point.problem->data.front().name),
                               {.order = Order::random, .counting = false, .hazards = true});
      EXPECT_TRUE(whole.check.passed()) << whole.check.reason();
      EXPECT_TRUE(whole.counts.findings.empty()) << whole.counts.findings.front().text();
    }
    return right;
  }
  const Kernel& kernel = *GetParam();
};

/// Stored rows at multiples of 16 bytes and not, of A, of B, of both; more and fewer rows than columns; factors.
TEST_P(EveryRungWithLayouts, IsRightInEach) {
  for (const Params& given : std::vector<Params>{{{"m", 72}, {"n", 72}, {"k", 72}},
                                                 {{"m", 131}, {"n", 67}, {"k", 37}},
                                                 {{"m", 33}, {"n", 70}, {"k", 50}, {"beta", -1}},
                                                 {{"m", 48}, {"n", 33}, {"k", 40}, {"lda", 80}, {"ldb", 43}},
                                                 {{"m", 40}, {"n", 36}, {"k", 32}, {"ldc", 41}, {"alpha", 2}},
                                                 {{"m", 16}, {"n", 24}, {"k", 48}, {"shift", 5}},
                                                 {{"m", 20}, {"n", 24}, {"k", 9}, {"alpha", 0}, {"beta", 3}},
                                                 {{"m", 1}, {"n", 70}, {"k", 5}},
                                                 {{"m", 70}, {"n", 1}, {"k", 1}}})
    EXPECT_EQ(expect_right(given, true), 3);
}

TEST_P(EveryRungWithLayouts, IsRightInEachShape) {
  if (kernel.tunables.empty() || kernel.tunables.front().name != "shape") GTEST_SKIP() << "has one shape";
  int plain = 0, general = 0;
  for (const Value& shape : kernel.tunables.front().values) {
    plain += expect_right({{"m", 72}, {"n", 136}, {"k", 264}, {"shape", shape}}, false);
    general += expect_right({{"m", 67}, {"n", 65}, {"k", 203}, {"shape", shape}}, false);
  }
  const int each = 3 * 6;  // in three layouts the best and five by name
  const auto further = static_cast<int>(kernel.tunables.front().values.size()) - 6;
  EXPECT_EQ(plain, each + further) << "these in the usual layout";
  EXPECT_EQ(general, each);
}

std::string rung_name(const testing::TestParamInfo<const Kernel*>& info) {
  return info.param->name.substr(info.param->name.rfind('/') + 1);
}

INSTANTIATE_TEST_SUITE_P(Registry, EveryRungWithLayouts, testing::ValuesIn(rungs_with_layouts()), rung_name);

/// Where its tiles have few steps, a warpgroup could be a whole tile ahead of the other one, and boxes of the last tile
/// could still be in flight.
TEST(PersistentShapes, AreRightWhereABlockHasManyTilesOfFewSteps) {
  const Kernel& kernel = *match_kernels("gpu/matmul/wgmma_top_bf16").front();
  int checked = 0;
  for (int which = 0; which < static_cast<int>(std::size(wgmma::kAllShapes)); ++which) {
    const wgmma::Named& named = wgmma::kAllShapes[which];
    if (!named.shape.persistent) continue;
    for (const int steps : {1, 2, 3, 4, 6}) {
      const Point point = point_of(kernel, {{"m", 520}, {"n", 264}, {"k", 64 * steps}, {"shape", {which, named.name}}});
      SCOPED_TRACE(point.name());
      const auto [counts, check] = count(point, {.order = Order::random, .hazards = true});
      EXPECT_TRUE(check.passed()) << check.reason();
      EXPECT_TRUE(counts.findings.empty()) << counts.findings.front().text();
      ++checked;
    }
  }
  EXPECT_EQ(checked, 5 * 4);
}

/// Tiles whose parts along k are computed by different blocks, some of them one step longer than others: two tiles, one
/// tile, and one after a full wave of two; and any rows and factors.
TEST(SplitTail, IsRightWhereBlocksComputePartsOfATile) {
  struct Case {
    int multiprocessors;
    const char* type;
    Params sizes;
  };
  const Case cases[] = {
      {16, "bf16", {{"m", 300}, {"n", 248}, {"k", 1600}}},
      {16, "bf16", {{"m", 200}, {"n", 248}, {"k", 1480}}},
      {4, "bf16", {{"m", 520}, {"n", 248}, {"k", 2240}}},
      {16, "tf32", {{"m", 100}, {"n", 131}, {"k", 701}, {"alpha", -2}, {"beta", 3}, {"ldc", 137}}},
  };
  for (const auto& [multiprocessors, type, sizes] : cases) {
    const AssumedDevice assumed({.name = "small", .major = 9, .sm_count = multiprocessors});
    const Kernel& kernel = *match_kernels(std::string("gpu/matmul/wgmma_split_tail_") + type).front();
    const Point point = point_of(kernel, sizes);
    SCOPED_TRACE(point.name());
    const auto shape = wgmma::shape_for(kernel.type, wgmma::split_tail(wgmma::large(256)));
    EXPECT_GT(wgmma::tail_of(shape, matmul_shape(point.params())).parts, 1);
    for (const Order order : {Order::forward, Order::reverse, Order::random}) {
      const auto [counts, check] = count(point, {.order = order, .hazards = true});
      EXPECT_TRUE(check.passed()) << check.reason();
      EXPECT_TRUE(counts.findings.empty()) << counts.findings.front().text();
    }
  }
}

TEST(SplitTail, HasAllPartsAtTheSameTime) {
  const AssumedDevice assumed(find_device("H200"));
  const wgmma::Shape shape = wgmma::split_tail(wgmma::large(256));
  const int clusters = gpu_facts().sm_count / shape.cluster_blocks();
  for (const int n : {1, 256, 1000, 2048, 3000, 5000, 16384}) {
    const MatmulShape product{n, n, n};
    const wgmma::Tail tail = wgmma::tail_of(shape, product);
    EXPECT_EQ(tail.tiles, wgmma::tiles_of(shape, product) % clusters) << n;
    EXPECT_LE(tail.units(), clusters) << n;
    EXPECT_EQ(wgmma::tail_of(wgmma::large(256), product).parts, 1) << n;
  }
  EXPECT_EQ(wgmma::tail_of(shape, {3000, 3000, 3000}).parts, 5) << "12 pairs of tiles in five parts, on 66 clusters";
}

TEST(RungsWithLayouts, AreThereInEveryTypeOfTheTop) {
  std::vector<Type> types;
  for (const Kernel* kernel : rungs_with_layouts()) types.push_back(kernel->type);
  for (const Type type : {Type::bf16, Type::fp16, Type::tf32, Type::fp8, Type::int8})
    EXPECT_GE(std::count(types.begin(), types.end(), type), 1) << type_name(type);
}

// --- shapes ---------------------------------------------------------------------------------------------------------

TEST(ShapesOfLayouts, LoadAsManyBytesInEach) {
  for (const wgmma::Named& named : wgmma::kAllShapes)
    for (const MatmulLayout layout : kLayouts) {
      const wgmma::Shape usual = wgmma::shape_for(Type::bf16, named.shape),
                         s = wgmma::shape_for(Type::bf16, named.shape, layout, false);
      EXPECT_TRUE(s.is_possible()) << named.name;
      EXPECT_EQ(s.stage_bytes(), usual.stage_bytes());
      EXPECT_EQ(s.shared_bytes(), usual.shared_bytes());
    }
  const wgmma::Shape split = wgmma::shape_for(Type::bf16, wgmma::small(1, 64, 1, 2));
  EXPECT_FALSE(wgmma::shape_for(Type::bf16, split, nn, true).is_possible()) << "parts of k store whole float4s";
  EXPECT_FALSE(wgmma::shape_for(Type::tf32, wgmma::large(256), nn, true).is_possible()) << "rows of k only";
}

TEST(ShapesOfLayouts, WhatIsTransposedIsReadAndWrittenOnce) {
  const auto traffic = [](Type type, const Params& given) {
    return wgmma::traffic_of(wgmma::shape_for(type, wgmma::large(256)), find_problem("matmul", type).complete(given));
  };
  for (const Type type : {Type::tf32, Type::fp8, Type::int8}) {
    const double bytes = static_cast<double>(type_bytes(type));
    for (const auto& [layout, copies] : {std::pair{nt, 0.0}, {nn, 1.0}, {tn, 2.0}}) {
      const Traffic usual = traffic(type, {{"n", 256}}),
                    other = traffic(type, {{"n", 256}, {"layout", layout_value(layout)}});
      EXPECT_EQ(other.loaded, usual.loaded + copies * bytes * 256 * 256);
      EXPECT_EQ(other.stored, usual.stored + copies * bytes * 256 * 256);
    }
  }
}

// --- the transposing kernel -----------------------------------------------------------------------------------------

/// Transposes a matrix of these bytes, and compares; zeros are at the ends of rows.
template <typename Element>
Counts transposed(int rows, int cols, int ld) {
  using wgmma::kInChunk, wgmma::kInWord;
  const int pitch = static_cast<int>(blocks_for(rows, kInChunk<Element>)) * kInChunk<Element>;
  Array<Element> from(std::size_t(rows) * ld), to(std::size_t(cols) * pitch);
  for (int i = 0; i < rows * ld; ++i) from[i] = static_cast<Element>(random_bits(5, i));
  for (int i = 0; i < cols * pitch; ++i) to[i] = static_cast<Element>(1);
  const Launch shape{{blocks_for(cols, wgmma::kTurnChunks * kInChunk<Element>),
                      blocks_for(rows, wgmma::kTurnWords * kInWord<Element>)},
                     {wgmma::kTurnThreads}};
  const Matrix<mem<Element>> x{from.on_device(), ld, rows, cols, begins_quads(from.on_device(), ld)};
  const Counts counts = counted(shape, {}, wgmma::transpose_matrix<Element>, x, to.on_device(), std::int64_t{pitch});
  int wrong = 0;
  for (int col = 0; col < cols; ++col)
    for (int row = 0; row < pitch; ++row)
      wrong += to[col * pitch + row] != (row < rows ? from[row * ld + col] : Element{0});
  EXPECT_EQ(wrong, 0) << rows << " x " << cols << ", " << ld << " apart, of " << sizeof(Element) << " bytes";
  return counts;
}

template <typename Element>
void transposes_any_matrix() {
  for (const auto& [rows, cols] : {std::pair{1, 1}, {3, 200}, {200, 3}, {128, 128}, {129, 31}, {33, 272}})
    for (const int ld : {cols, cols + 1, (cols + 15) / 16 * 16}) transposed<Element>(rows, cols, ld);
}

TEST(Transposed, IsAnyMatrixOfBytes) { transposes_any_matrix<std::uint8_t>(); }
TEST(Transposed, IsAnyMatrixOfWords) { transposes_any_matrix<std::uint32_t>(); }

template <typename Element>
void moves_sixteen_bytes_at_a_time() {
  const Counts counts = transposed<Element>(256, 384, 384);
  const std::size_t bytes = 256 * 384 * sizeof(Element), requests = bytes / (32 * 16);
  EXPECT_EQ(counts.bytes_loaded, bytes);
  EXPECT_EQ(counts.bytes_stored, bytes);
  EXPECT_EQ(counts.load_requests, requests);
  EXPECT_EQ(counts.store_requests, requests);
  EXPECT_EQ(counts.shared_store_wavefronts, counts.shared_store_requests) << "no two words of a warp in a bank";
  EXPECT_EQ(counts.shared_load_wavefronts, 4 * counts.shared_load_requests) << "16 bytes of each lane";
}

TEST(Transposed, MovesSixteenBytesAtATime) {
  moves_sixteen_bytes_at_a_time<std::uint8_t>();
  moves_sixteen_bytes_at_a_time<std::uint32_t>();
}

}  // namespace
}  // namespace rung
