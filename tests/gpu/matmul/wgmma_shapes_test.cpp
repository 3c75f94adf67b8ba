/// The shapes of the rungs on wgmma by data type: that they fit, that a step has the same bytes in every type, what is
/// copied for TMA, and which shape is taken. None of this needs a GPU.
#include "gpu/matmul/wgmma/engine/wgmma_shapes.hpp"

#include <gtest/gtest.h>

#include <set>
#include <span>

#include "common/problem/problem.hpp"
#include "gpu/matmul/accuracy/int8_slices.hpp"
#include "gpu/matmul/accuracy/wgmma_terms.hpp"

namespace rung {
namespace {

struct List {
  Type type;
  std::span<const wgmma::Named> shapes;
};

std::vector<List> lists() {
  return {{Type::bf16, wgmma::kAllShapes},
          {Type::bf16, wgmma::kSplitShapes},
          {Type::tf32, wgmma::kWholeShapes},
          {Type::int8, wgmma::kWholeShapes},
          {Type::fp8, wgmma::kPromotedShapes}};
}

TEST(WgmmaShapes, FitInEveryType) {
  for (const List& list : lists())
    for (const wgmma::Named& named : list.shapes) {
      SCOPED_TRACE(std::string(type_name(list.type)) + " " + named.name);
      const wgmma::Shape s = wgmma::shape_for(list.type, named.shape);
      EXPECT_TRUE(s.is_possible());
      EXPECT_EQ(s.b_by_columns(), stores_b_by_columns(list.type));
      EXPECT_EQ(s.depth() * static_cast<int>(type_bytes(list.type)), wgmma::kStepBytes);
      EXPECT_EQ(s.stage_bytes(), named.shape.stage_bytes()) << "a step has the same bytes in every type";
      EXPECT_LE(s.shared_bytes(), 227 * 1024);
      EXPECT_GE(s.stages, 4);
      EXPECT_LE(s.sums(), 192) << "registers of a thread";
      const int loaded = s.b_by_columns() ? s.box_rows() * s.cluster : s.boxes() * wgmma::kBoxCols;
      EXPECT_EQ(loaded, s.cols) << "the blocks of a cluster load B together";
      EXPECT_EQ(s.b_by_columns() ? s.box_rows() % 8 : 0, 0) << "a pattern of the swizzle has 8 rows";
    }
}

TEST(WgmmaShapes, Fp8AddsEveryStepInFurtherRegisters) {
  const wgmma::Shape pair = wgmma::large(192);
  EXPECT_TRUE(wgmma::shape_for(Type::fp8, pair).promotes);
  EXPECT_EQ(wgmma::shape_for(Type::fp8, pair).sums(), 2 * wgmma::shape_for(Type::int8, pair).sums());
  EXPECT_EQ(wgmma::shape_for(Type::fp8, pair).depth(), 128);
}

TEST(WgmmaShapes, WhatTmaCannotReadIsCopied) {
  const auto traffic = [](Type type, const Params& given) {
    const wgmma::Shape shape = wgmma::shape_for(type, wgmma::large(256));
    return wgmma::traffic_of(shape, find_problem("matmul", type).complete(given));
  };
  for (const Type type : {Type::tf32, Type::int8}) {
    const double bytes = static_cast<double>(type_bytes(type)), c = 4.0 * 256 * 256, inputs = bytes * 2 * 256 * 256;
    EXPECT_EQ(traffic(type, {{"n", 256}}).loaded, inputs);
    EXPECT_EQ(traffic(type, {{"n", 256}}).stored, c);
    EXPECT_EQ(traffic(type, {{"n", 256}, {"shift", 1}}).loaded, 2 * inputs) << "both, since neither is aligned";
    EXPECT_EQ(traffic(type, {{"n", 256}, {"shift", 1}}).stored, c + inputs);
    EXPECT_EQ(traffic(type, {{"n", 256}, {"shift", 16}}).stored, c);
    EXPECT_EQ(traffic(type, {{"n", 256}, {"lda", 257}}).stored, c + inputs / 2) << "A alone";
    EXPECT_EQ(traffic(type, {{"n", 256}, {"ldb", 272}}).stored, c);
  }
}

TEST(WgmmaShapes, ALargerProductTakesALargerTile) {
  for (const List& list : lists()) {
    const auto area = [&](int n) {
      const wgmma::Shape& s = list.shapes[wgmma::best_shape(list.shapes, list.type, {n, n, n})].shape;
      return s.rows() * s.cols;
    };
    EXPECT_LT(area(64), area(8192)) << type_name(list.type);
  }
}

TEST(WgmmaRungs, OfTypesByColumnsRefuseNothing) {
  int found = 0;
  for (const Kernel* kernel : match_kernels("gpu/matmul/wgmma*")) {
    if (!stores_b_by_columns(kernel->type)) continue;
    ++found;
    const Problem& problem = problem_of(*kernel);
    for (Params sizes : {Params{{"m", 3}, {"n", 5}, {"k", 7}},
                         Params{{"n", 129}, {"lda", 131}, {"ldc", 130}, {"alpha", -2}, {"beta", 3}, {"shift", 5}},
                         Params{{"n", 64}, {"alpha", 0}}}) {
      Params all = problem.complete(sizes);
      for (const auto& [name, value] : with_tunables(*kernel, {})) all.set(name, value);
      EXPECT_EQ(refusal(*kernel, all), "") << kernel->name << " " << all.text();
      EXPECT_GE(kernel->gpu.launch(all).grid.count(), 1u);
    }
  }
  EXPECT_GE(found, 8) << "TF32 on every rung, FP8 and INT8 at the top";
}

// --- terms of float32
// -------------------------------------------------------------------------------------------------

TEST(TermShapes, HoldAllTermsOfAStepAndTwoSetsOfSums) {
  for (const auto& [type, products] : {std::pair{Type::tf32, 3}, {Type::bf16, 6}, {Type::bf16, 9}})
    for (const wgmma::Named& named : wgmma::kTermShapes) {
      SCOPED_TRACE(std::string(type_name(type)) + " " + named.name);
      const wgmma::Shape s = wgmma::in_terms(type, products, named.shape);
      EXPECT_TRUE(s.is_possible());
      EXPECT_TRUE(s.b_by_columns());
      EXPECT_EQ(s.depth(), wgmma::kTermDepth);
      EXPECT_EQ(s.instructions(), type == Type::tf32 ? 6 : products);
      EXPECT_LE(s.terms * s.depth() * s.input_bytes, wgmma::kStepBytes);
      EXPECT_LE(s.shared_bytes(), 227 * 1024);
      EXPECT_GE(s.stages, 4);
      EXPECT_LE(s.sums(), 192) << "registers of a thread";
      EXPECT_EQ(s.box_rows() % 8, 0) << "a pattern of the swizzle has 8 rows";
    }
}

TEST(TermShapes, OfFp16HoldTwoStagesOfAWindowAndTwoMore) {
  for (const wgmma::Named& named : wgmma::kApartShapes) {
    SCOPED_TRACE(named.name);
    const wgmma::Shape s = wgmma::in_terms(Type::fp16, 3, named.shape);
    EXPECT_TRUE(s.is_possible());
    EXPECT_TRUE(s.apart);
    EXPECT_EQ(2 * s.depth(), wgmma::term_depth(Type::fp16)) << "a window is two steps";
    EXPECT_EQ(2 * s.instructions(), 12);
    EXPECT_LE(s.shared_bytes(), 227 * 1024);
    EXPECT_GE(s.stages, 4);
    EXPECT_LE(s.sums(), 192) << "registers of a thread";
  }
}

TEST(TermShapes, HoldSlicesOfInt8AndTwoSetsOfSums) {
  for (const wgmma::Named& named : wgmma::kTermShapes) {
    SCOPED_TRACE(named.name);
    const wgmma::Shape s = wgmma::shape_for(Type::int8, named.shape);
    EXPECT_TRUE(s.is_possible());
    EXPECT_TRUE(s.b_by_columns());
    EXPECT_EQ(s.depth(), wgmma::kPaddedSlice) << "no step has numbers of two slices";
    EXPECT_LE(s.shared_bytes(), 227 * 1024);
    EXPECT_LE(2 * s.sums(), 192) << "registers of a thread";
  }
}

TEST(TermShapes, ALargerProductTakesALargerTile) {
  const auto area = [](int n) {
    const wgmma::Shape& s =
        wgmma::kTermShapes[wgmma::best_term_shape(wgmma::kTermShapes, Type::bf16, 6, {n, n, n})].shape;
    return s.rows() * s.cols;
  };
  EXPECT_LT(area(64), area(8192));
}

}  // namespace
}  // namespace rung
