/// The judge of the heat equation: it must pass forward Euler in float32 and fail each kind of error, where it compares
/// every cell, where it takes samples, and where it has a formula.
#include "common/problem/heat.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <new>
#include <numbers>

#include "common/problem/problem.hpp"

namespace rung {
namespace {

const Problem& heat() { return find_problem("heat", Type::fp32); }

/// Memory like the kernels' own.
template <typename T>
struct Aligned {
  using value_type = T;
  static constexpr std::align_val_t kBytes{256};
  T* allocate(std::size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), kBytes)); }
  void deallocate(T* p, std::size_t) { ::operator delete(p, kBytes); }
  bool operator==(const Aligned&) const = default;
};
using Field = std::vector<float, Aligned<float>>;

/// A field with its inputs and their judge.
struct Case {
  Params sizes;
  Field u0, u;
  Judge judge;

  Case(const Params& given, const std::string& data) : sizes(heat().complete(given)) {
    u0.resize(static_cast<std::size_t>(heat_cells(sizes)));
    void* host[] = {u0.data(), nullptr};
    heat().fill(sizes, heat().data_set(data), 7, host);
    const void* inputs[] = {u0.data(), nullptr};
    judge = heat().reference(sizes, heat().data_set(data), 7, inputs);
  }
  Check check() const {
    const void* host[] = {u0.data(), u.data()};
    return judge(host);
  }
  bool passes() const { return check().passed(); }
};

/// Forward Euler in float32 in plain order. `edge`: the value of a neighbour beyond the edge, relative to the cell.
Field stepped(const Case& it, int steps, float edge = 0, double weight = 1) {
  HeatGrid g = heat_grid(it.sizes);
  g.side = static_cast<float>(g.side * weight);
  Field u = it.u0, next(u.size());
  for (int step = 0; step < steps; ++step) {
    for (int row = 0; row < g.rows; ++row)
      for (int col = 0; col < g.cols; ++col) {
        const int at = row * g.cols + col;
        const float beyond = edge * u[at];
        next[at] = g.centre * u[at] +
                   g.side * ((row > 0 ? u[at - g.cols] : beyond) + (col > 0 ? u[at - 1] : beyond) +
                             (row + 1 < g.rows ? u[at + g.cols] : beyond) + (col + 1 < g.cols ? u[at + 1] : beyond));
      }
    u.swap(next);
  }
  return u;
}

Case right_case(const Params& given, const std::string& data) {
  Case it(given, data);
  it.u = stepped(it, heat_steps(it.sizes));
  return it;
}

/// Larger than a tile of the oracle, no multiple of anything; and shapes at the ends.
const std::vector<Params> kShapes{{{"m", 270}, {"n", 531}, {"steps", 9}},
                                  {{"m", 61}, {"n", 35}, {"steps", 40}},
                                  {{"m", 1}, {"n", 90}, {"steps", 3}},
                                  {{"m", 90}, {"n", 1}, {"steps", 3}}};

TEST(HeatOracle, PassesForwardEuler) {
  for (const Params& shape : kShapes)
    for (const DataSet& data : heat().data) {
      const Check check = right_case(shape, data.name).check();
      EXPECT_TRUE(check.passed()) << shape.text() << " " << data.name << ": " << check.reason();
    }
  for (const DataSet& data : heat().data) EXPECT_TRUE(right_case({{"n", 1}}, data.name).passes()) << data.name;
}

TEST(HeatOracle, FailsOneWrongCellAnywhere) {
  for (const Params& shape : kShapes)
    for (const DataSet& data : heat().data) {
      Case it = right_case(shape, data.name);
      for (std::size_t i = 0; i < it.u.size(); i += 1 + it.u.size() / 61)
        for (const float wrong : {it.u[i] + 1e-3f, std::numeric_limits<float>::quiet_NaN()}) {
          const float was = it.u[i];
          it.u[i] = wrong;
          EXPECT_FALSE(it.passes()) << shape.text() << " " << data.name << " at " << i << ": " << wrong;
          it.u[i] = was;
        }
    }
}

TEST(HeatOracle, FailsAnotherSchemeOrTime) {
  for (const Params& shape : kShapes)
    for (const char* data : {"integers", "random", "sine"}) {
      Case it(shape, data);
      const int steps = heat_steps(it.sizes);
      it.u = stepped(it, steps - 1);
      EXPECT_FALSE(it.passes()) << shape.text() << " " << data << ": a step too few";
      it.u = stepped(it, steps + 1);
      EXPECT_FALSE(it.passes()) << shape.text() << " " << data << ": a step too many";
      it.u = stepped(it, steps, 1);
      EXPECT_FALSE(it.passes()) << shape.text() << " " << data << ": an edge that lets no heat pass";
      it.u = stepped(it, steps, 0, 1.001);
      EXPECT_FALSE(it.passes()) << shape.text() << " " << data << ": a neighbour's weight that is 0.1 % off";
      it.u = it.u0;
      EXPECT_FALSE(it.passes()) << shape.text() << " " << data << ": the field as it was";
    }
}

/// With weights that are powers of two nothing is rounded, so that the last bit must be right.
TEST(HeatOracle, IsExactWhereFloat32Is) {
  for (const Params& shape : {Params{{"m", 61}, {"n", 35}, {"steps", 12}, {"permille", 250}},
                              Params{{"m", 61}, {"n", 35}, {"steps", 8}, {"permille", 125}}}) {
    Case it = right_case(shape, "integers");
    EXPECT_TRUE(it.passes()) << it.check().reason();
    for (const std::size_t i : {std::size_t{0}, it.u.size() / 2, it.u.size() - 1}) {
      const float was = it.u[i];
      it.u[i] = std::nextafter(was, 2.0f);
      EXPECT_FALSE(it.passes()) << shape.text() << " at " << i;
      it.u[i] = was;
    }
  }
}

/// Runs a CPU kernel for `steps` steps.
void run(const char* name, const Params& sizes, int steps, Field& from, Field& to) {
  const Kernel& kernel = find_kernel(name);
  Params params = with_tunables(kernel, {});
  for (const auto& [size, value] : sizes) params.set(size, value);
  params.set("steps", steps);
  std::vector<Field> scratch;
  for (const Operand& operand : kernel.scratch(params)) scratch.emplace_back(operand.elements);
  Call call{.params = params, .operands = {from.data(), to.data()}};
  for (Field& field : scratch) call.operands.push_back(field.data());
  kernel.run(call);
}

/// Too large to compute in full: windows and waves.
TEST(HeatOracle, SeesFaultsInLargeFieldsBySamples) {
  constexpr int kSize = 8192, kSteps = 130;
  Case it({{"n", kSize}, {"steps", kSteps}}, "random");
  Field before(it.u0.size());
  it.u.resize(it.u0.size());
  run("cpu/heat/temporal", it.sizes, kSteps - 1, it.u0, before);
  it.u = before;
  EXPECT_FALSE(it.passes()) << "a step too few";
  run("cpu/heat/blocked", it.sizes, 1, before, it.u);
  EXPECT_TRUE(it.passes()) << it.check().reason();
  const auto fails = [&](int top, int left, int rows, int cols, auto change) {
    std::vector<float> was;
    for (int row = top; row < top + rows; ++row)
      for (int col = left; col < left + cols; ++col) {
        float& u = it.u[row * kSize + col];
        was.push_back(u);
        u = change(u);
      }
    const bool failed = !it.passes();
    auto next = was.begin();
    for (int row = top; row < top + rows; ++row)
      for (int col = left; col < left + cols; ++col) it.u[row * kSize + col] = *next++;
    return failed;
  };
  const auto off = [](float u) { return u + 1e-3f; };
  EXPECT_TRUE(fails(0, 0, 1, 1, off)) << "a cell of the first corner";
  EXPECT_TRUE(fails(kSize - 1, kSize - 1, 1, 1, off)) << "a cell of the last corner";
  EXPECT_TRUE(fails(1000, 2000, 1, 1, [](float) { return NAN; })) << "NaN anywhere";
  EXPECT_TRUE(fails(512, 0, 16, kSize, [](float) { return 0.0f; })) << "rows that were never written";
  EXPECT_TRUE(fails(0, 3000, kSize, 16, [](float u) { return 0.9f * u; })) << "columns that are stale";
}

/// The error against the equation's solution falls with the square of the distance between points.
TEST(HeatOracle, MeasuresTheSchemesError) {
  const auto error = [](int n, int steps) {
    const Check check = right_case({{"n", n}, {"steps", steps}, {"permille", 250}}, "sine").check();
    EXPECT_LT(check.judged.at("rounding_error"), 0.05 * check.judged.at("sine_error"));
    return check.judged.at("sine_error");
  };
  const double coarse = error(15, 50), fine = error(31, 200), finest = error(63, 800);
  EXPECT_NEAR(std::log2(coarse / fine), 2, 0.02);
  EXPECT_NEAR(std::log2(fine / finest), 2, 0.02);
  // Of the scheme's decay in a step, 1 - 8 r sin^2(h pi / 2), and the equation's, exp(-2 pi^2 r h^2), after the steps.
  const double half = std::numbers::pi / 2 / 16, square = std::sin(half) * std::sin(half);
  EXPECT_NEAR(coarse, 1 - std::pow((1 - 2 * square) * std::exp(2 * half * half), 50), 1e-5);
}

TEST(HeatSizes, BeyondTheStabilityLimitAreRefusedByName) {
  EXPECT_NO_THROW(heat().complete({{"n", 10}, {"permille", 250}}));
  try {
    heat().complete({{"n", 10}, {"permille", 251}});
    FAIL() << "is unstable";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("exceeds 0.25, the stability limit"), std::string::npos) << error.what();
  }
  EXPECT_THROW(heat().complete({{"n", 10}, {"permille", 9}}), Error);
  EXPECT_THROW(heat().complete({{"n", 10}, {"steps", 0}}), Error);
  EXPECT_THROW(heat().complete({{"steps", 3}}), Error);
}

/// Beyond that limit the shortest wave grows, at it the wave stays, and below it fades.
TEST(HeatSizes, TheLimitIsWhereTheShortestWaveStopsFading) {
  Case it({{"n", 50}, {"permille", 250}}, "random");
  for (std::size_t i = 0; i < it.u0.size(); ++i) it.u0[i] = (i / 50 + i % 50) % 2 == 0 ? 1.0f : -1.0f;
  const auto middle = [&](double weight) { return std::abs(stepped(it, 20, 0, weight)[25 * 50 + 25]); };
  EXPECT_NEAR(middle(1), 1, 1e-6);
  EXPECT_GT(middle(1.01), 1.2);
  EXPECT_LT(middle(0.99), 0.85);
}

}  // namespace
}  // namespace rung
