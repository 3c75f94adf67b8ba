/// gpu/matmul/wgmma_int8_slices in the emulator: infinities, NaN, denormal numbers, zeros and single numbers that are
/// far larger than all others. Each may change only its own row or column.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "common/problem/problem.hpp"
#include "tests/emulator/emulator_support.hpp"

namespace rung {
namespace {

constexpr int kM = 20, kN = 24, kK = 150;

/// Random reals in [-1, 1), modified by change(), and their product by the kernel.
struct Product {
  Array<float> a{kM * kK}, b{kK * kN}, c{kM * kN};

  explicit Product(const std::function<void(Product&)>& change) {
    const Problem& problem = find_problem("matmul");
    const Kernel& kernel = find_kernel("gpu/matmul/wgmma_int8_slices");
    Call call{.params = problem.complete({{"m", kM}, {"n", kN}, {"k", kK}})};
    void* const inputs[] = {&a[0], &b[0], nullptr};
    problem.fill(call.params, problem.data_set("random"), 7, inputs);
    change(*this);
    std::vector<Array<std::uint32_t>> scratch;
    call.operands = {&a[0], &b[0], &c[0]};
    for (const Operand& operand : kernel.scratch(call.params)) {
      scratch.emplace_back(operand.elements);
      call.operands.push_back(&scratch.back()[0]);
    }
    call.launch = kernel.gpu.launch(call.params);
    const Recording recording{EmulatorOptions{}};
    kernel.gpu.emulate(call);
  }

  float& a_at(int row, int i) { return a[row * kK + i]; }
  float& b_at(int i, int col) { return b[i * kN + col]; }

  /// |error| / |A||B| of an element in units of 2^-24, less the error of the smallest denormal number.
  double error(int row, int col) {
    double want = 0, size = 0;
    for (int i = 0; i < kK; ++i) {
      const double term = double(a_at(row, i)) * b_at(i, col);
      want += term, size += std::abs(term);
    }
    const double error = std::max(0.0, std::abs(c[row * kN + col] - want) - 0x1p-150);
    return size == 0 ? error : error / size * 0x1p24;
  }

  void expect_right(const std::function<bool(int, int)>& is_asked) {
    for (int row = 0; row < kM; ++row)
      for (int col = 0; col < kN; ++col)
        if (is_asked(row, col)) {
          EXPECT_LE(error(row, col), 2) << row << ", " << col;
        }
  }
};

const auto kEverywhere = [](int, int) { return true; };

TEST(Int8SlicesRung, MissesByLittle) {
  Product([](Product&) {}).expect_right(kEverywhere);
}

TEST(Int8SlicesRung, HasNanInRowsAndColumnsOfWhatIsNotFiniteAlone) {
  Product product([](Product& p) {
    p.a_at(3, 5) = std::numeric_limits<float>::infinity();
    p.b_at(7, 2) = std::numeric_limits<float>::quiet_NaN();
    for (int i = 0; i < kK; ++i) p.b_at(i, 4) = 0;  // infinity times 0
  });
  for (int col = 0; col < kN; ++col) EXPECT_TRUE(std::isnan(product.c[3 * kN + col])) << col;
  for (int row = 0; row < kM; ++row) EXPECT_TRUE(std::isnan(product.c[row * kN + 2])) << row;
  product.expect_right([](int row, int col) { return row != 3 && col != 2; });
}

TEST(Int8SlicesRung, KeepsNumbersOfAnySize) {
  Product([](Product& p) {
    for (int i = 0; i < kK; ++i) {
      p.a_at(4, i) *= 0x1p-135f;  // denormal
      p.a_at(9, i) = std::ldexp(p.a_at(9, i), 120);
      p.b_at(i, 11) = std::ldexp(p.b_at(i, 11), -120);
      p.b_at(i, 12) = 0;
    }
  }).expect_right(kEverywhere);
}

TEST(Int8SlicesRung, LetsALargeNumberChangeNoOtherRow) {
  Product([](Product& p) {
    p.a_at(6, 1) = 0x1p100f;
    p.b_at(2, 8) = -0x1p100f;
  }).expect_right([](int row, int col) { return row != 6 && col != 8; });
}

TEST(Int8SlicesRung, OverflowsAsAFloatDoes) {
  Product product([](Product& p) {
    for (int i = 0; i < kK; ++i) p.a_at(5, i) = p.b_at(i, 6) = 0x1p100f;
  });
  EXPECT_EQ(product.c[5 * kN + 6], std::numeric_limits<float>::infinity());
  product.expect_right([](int row, int col) { return row != 5 || col != 6; });
}

}  // namespace
}  // namespace rung
