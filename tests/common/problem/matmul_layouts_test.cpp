/// The size "layout" of the matrix product: its effect on sizes and operands, that the judge uses it for A and B, and
/// the kernels that accept it.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "common/harness/experiment.hpp"
#include "common/problem/matmul.hpp"
#include "common/problem/problem.hpp"

namespace rung {
namespace {

using enum MatmulLayout;
constexpr MatmulLayout kLayouts[] = {nn, nt, tn};
constexpr Type kTypes[] = {Type::fp32, Type::bf16, Type::fp16, Type::tf32, Type::fp8, Type::int8};

Params with_layout(MatmulLayout layout, Params sizes) {
  sizes.set("layout", layout_value(layout));
  return sizes;
}

const Params kOblong{{"m", 3}, {"n", 5}, {"k", 7}};

// --- sizes and operands ---------------------------------------------------------------------------------------------

TEST(MatmulLayouts, TheUsualOneIsNotShown) {
  for (const Type type : kTypes) {
    const Problem& problem = find_problem("matmul", type);
    for (const MatmulLayout layout : kLayouts) {
      const Params sizes = problem.complete(with_layout(layout, {{"n", 64}}));
      EXPECT_EQ(layout_of(sizes, type), layout);
      EXPECT_EQ(problem.complete(problem.brief(sizes)), sizes);
      const std::string word = layout_value(layout).word;
      EXPECT_EQ(problem.brief(sizes).text(), layout == usual_layout(type) ? "n:64" : "n:64/layout:" + word);
    }
    EXPECT_EQ(layout_of(problem.complete({{"n", 64}}), type), stores_b_by_columns(type) ? nt : nn);
  }
}

TEST(MatmulLayouts, AreAskedForByName) {
  const Kernel& kernel = find_kernel("gpu/matmul/wgmma_top_bf16");
  const auto sizes_of = [&](const char* word) {
    return point_of(kernel, {{"n", 64}, {"layout", Value(0, word)}}).sizes;
  };
  EXPECT_EQ(sizes_of("tn").at("layout"), static_cast<int>(tn));
  EXPECT_FALSE(sizes_of("nn").has("layout"));
  EXPECT_THROW(sizes_of("tt"), Error);
  EXPECT_THROW(find_problem("matmul").complete({{"n", 64}, {"layout", 3}}), Error);
}

TEST(MatmulLayouts, LeadingDimensionsAreThoseOfTheStoredMatrices) {
  struct Stored {
    MatmulLayout layout;
    const char *a, *b;
    int lda, ldb;
  };
  for (const Type type : kTypes)
    for (const auto& [layout, a, b, lda, ldb] :
         {Stored{nn, "A", "B", 7, 5}, {nt, "A", "B^T", 7, 7}, {tn, "A^T", "B", 3, 5}}) {
      const Problem& problem = find_problem("matmul", type);
      const Params sizes = with_layout(layout, kOblong);
      const auto operands = [&](const char* ld, int value) {
        Params given = sizes;
        given.set(ld, value);
        return problem.operands(problem.complete(given));
      };
      EXPECT_EQ(operands("lda", lda)[0].name, a);
      EXPECT_EQ(operands("lda", lda)[1].name, b);
      EXPECT_EQ(operands("lda", lda)[0].elements, 21u);
      EXPECT_EQ(operands("lda", lda + 2)[0].elements, 21u + 2 * (21 / lda - 1));
      EXPECT_EQ(operands("ldb", ldb + 2)[1].elements, 35u + 2 * (35 / ldb - 1));
      EXPECT_THROW(operands("lda", lda - 1), Error);
      EXPECT_THROW(operands("ldb", ldb - 1), Error);
    }
}

TEST(MatmulLayouts, OverlapsAreThoseOfTheStoredMatrices) {
  std::vector<float> memory(1000);
  const Params sizes = find_problem("matmul").complete(with_layout(tn, {{"m", 2}, {"n", 4}, {"k", 9}, {"lda", 20}}));
  const auto multiply = [&](std::size_t c) {
    return matmul_of<float>({.params = sizes, .operands = {&memory[0], &memory[500], &memory[c]}}, tn);
  };
  EXPECT_THROW(multiply(8 * 20 + 1), Error) << "the last of nine rows of A^T";
  EXPECT_EQ(multiply(8 * 20 + 2).lda, 20);
}

// --- the judge ------------------------------------------------------------------------------------------------------

/// A product in float32, with A and B in the layout that the judge should use, or in another one.
struct Case {
  const Problem& problem = find_problem("matmul");
  Params sizes;
  const DataSet& data;
  std::vector<std::vector<float>> memory;
  std::vector<void*> host;
  Judge judge;

  Case(const Params& given, const DataSet& set) : sizes(problem.complete(given)), data(set) {
    for (const Operand& operand : problem.operands(sizes)) memory.emplace_back(operand.elements);
    for (auto& numbers : memory) {
      std::fill_n(reinterpret_cast<unsigned char*>(numbers.data()), numbers.size() * sizeof(float), kPoisonByte);
      host.push_back(numbers.data());
    }
    problem.fill(sizes, data, 11, host);
    judge = problem.reference(sizes, data, 11, {host.data(), host.size()});
  }
  std::string verdict(MatmulLayout read_as) {
    const MatmulLayout layout = layout_of(sizes, Type::fp32);
    const auto it = matmul_of<float>({.params = sizes, .operands = host}, layout);
    const auto at = [](bool by_columns, std::int64_t row, std::int64_t col, std::int64_t ld) {
      return by_columns ? col * ld + row : row * ld + col;
    };
    for (int row = 0; row < it.m; ++row)
      for (int col = 0; col < it.n; ++col) {
        double sum = 0;
        for (int i = 0; i < it.k; ++i)
          sum += double(it.a[at(has_a_by_columns(read_as), row, i, it.lda)]) *
                 it.b[at(has_b_by_columns(read_as), i, col, it.ldb)];
        it.c[row * it.ldc + col] = static_cast<float>(it.alpha * sum);
      }
    return judge({host.data(), host.size()}).reason();
  }
};

TEST(MatmulLayouts, TheJudgeReadsAAndBAsTheyAreStored) {
  for (const MatmulLayout layout : kLayouts)
    for (const DataSet& data : find_problem("matmul").data) {
      Case square(with_layout(layout, {{"n", 40}, {"lda", 43}, {"ldb", 41}, {"alpha", -2}, {"shift", 3}}), data);
      for (const MatmulLayout read_as : kLayouts)
        EXPECT_EQ(square.verdict(read_as) == "", read_as == layout)
            << layout_value(layout).word << " read as " << layout_value(read_as).word << " on " << data.name;
      EXPECT_EQ(Case(with_layout(layout, {{"m", 300}, {"n", 33}, {"k", 17}}), data).verdict(layout), "");
      EXPECT_EQ(Case(with_layout(layout, {{"m", 3}, {"n", 290}, {"k", 65}}), data).verdict(layout), "");
    }
}

TEST(MatmulLayouts, SumsCancelInEach) {
  for (const MatmulLayout layout : kLayouts) {
    Case cancelling(with_layout(layout, {{"m", 9}, {"n", 8}, {"k", 256}}),
                    find_problem("matmul").data_set("cancelling"));
    EXPECT_EQ(cancelling.verdict(layout), "");
    const auto largest = [](const std::vector<float>& c) {
      return std::abs(
          *std::max_element(c.begin(), c.end(), [](float x, float y) { return std::abs(x) < std::abs(y); }));
    };
    EXPECT_LT(largest(cancelling.memory[2]), 256 * 0x1p-12) << layout_value(layout).word;
  }
}

// --- kernels --------------------------------------------------------------------------------------------------------

TEST(MatmulLayouts, KernelsTakeThemOrSayThatTheyDoNot) {
  int taken = 0, refused = 0;
  for (const Kernel& kernel : kernels()) {
    if (kernel.family() != "matmul") continue;
    const bool takes = std::count(kernel.takes.begin(), kernel.takes.end(), "layout") > 0;
    ++(takes ? taken : refused);
    for (const MatmulLayout layout : kLayouts) {
      const Point point = point_of(kernel, with_layout(layout, {{"n", 256}}));
      const bool says =
          refusal(kernel, point.params()).find("layout = " + layout_value(layout).word) != std::string::npos;
      EXPECT_EQ(says, !takes && layout != usual_layout(kernel.type)) << kernel.name << " " << point.sizes.text();
    }
  }
  EXPECT_GE(taken, 10) << "the top rungs in five types and the libraries";
  EXPECT_GE(refused, 20);
}

}  // namespace
}  // namespace rung
