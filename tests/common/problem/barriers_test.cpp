/// The problems "exchange" and "sum": their judges, and their kernels on the emulator. Every order of blocks and
/// threads must give the same result, without hazards, and with the number of barriers that each kernel declares.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <tuple>

#include "common/harness/count.hpp"
#include "common/harness/workload.hpp"
#include "common/machine/target.hpp"

namespace rung {
namespace {

constexpr std::uint64_t kSeed = 11;

/// The host's operands of a problem, with the inputs filled in.
struct Operands {
  std::vector<std::vector<float>> arrays;
  Operands(const Problem& problem, const Params& sizes, const DataSet& fill) {
    for (const Operand& operand : problem.operands(sizes)) arrays.emplace_back(operand.elements);
    problem.fill(sizes, fill, kSeed, pointers());
  }
  std::vector<void*> pointers() {
    std::vector<void*> all;
    for (auto& array : arrays) all.push_back(array.data());
    return all;
  }
  Judge judge(const Problem& problem, const Params& sizes, const DataSet& fill) {
    const std::vector<void*> host = pointers();
    return problem.reference(sizes, fill, kSeed, std::vector<const void*>(host.begin(), host.end()));
  }
  bool passes(const Judge& judge) {
    const std::vector<void*> host = pointers();
    return judge(std::vector<const void*>(host.begin(), host.end())).passed();
  }
};

// ---- The judge of the exchange ----

/// The exchange by its definition, in float32: every product moves by one place per round.
void exchange(Operands& host, int rounds) {
  const std::vector<float>&x = host.arrays[0], &y = host.arrays[1];
  std::vector<float>& z = host.arrays[2];
  for (std::size_t first = 0; first < x.size(); first += 32) {
    const std::size_t width = std::min<std::size_t>(32, x.size() - first);
    for (std::size_t i = 0; i < width; ++i) {
      z[first + i] = 0;
      for (int r = 1; r <= rounds; ++r) {
        const std::size_t from = first + (i + static_cast<std::size_t>(r)) % width;
        const volatile float product = x[from] * y[from];  // rounded, as it is when it is passed on
        z[first + i] += product;
      }
    }
  }
}

struct Exchanged {
  const Problem& problem = find_problem("exchange");
  Params sizes;
  Operands host;
  Judge judge;
  Exchanged(int n, int rounds, const DataSet& fill, int done)
      : sizes(problem.complete({{"n", n}, {"rounds", rounds}})),
        host(problem, sizes, fill),
        judge(host.judge(problem, sizes, fill)) {
    exchange(host, done);
  }
  bool passes() { return host.passes(judge); }
  std::vector<float>& z() { return host.arrays[2]; }
};

TEST(ExchangeOracle, PassesTheDefinition) {
  for (const int n : {1, 2, 31, 32, 33, 63, 64, 100, 1001})
    for (const int rounds : {1, 2, 31, 32, 33, 70, 1000})
      for (const DataSet& fill : {integers(), random_reals()})
        EXPECT_TRUE(Exchanged(n, rounds, fill, rounds).passes()) << n << " elements, " << rounds << " rounds";
}

TEST(ExchangeOracle, FailsAnotherNumberOfRounds) {
  for (const int n : {33, 100})
    for (const int rounds : {1, 31, 70})
      for (const DataSet& fill : {integers(), random_reals()})
        for (const int done : {rounds - 1, rounds + 1})
          EXPECT_FALSE(Exchanged(n, rounds, fill, done).passes()) << n << " elements, " << done << " rounds";
}

TEST(ExchangeOracle, FailsAnyWrongElement) {
  for (const DataSet& fill : {integers(), random_reals()})
    for (const std::size_t i : {0u, 31u, 32u, 99u}) {
      Exchanged more(100, 5, fill, 5), lost(100, 5, fill, 5);
      more.z()[i] += 0.01f;
      EXPECT_FALSE(more.passes()) << i;
      lost.z()[i] = std::numeric_limits<float>::quiet_NaN();
      EXPECT_FALSE(lost.passes()) << i;
    }
}

TEST(ExchangeOracle, RefusesSizesThatItCannotJudge) {
  const Problem& problem = find_problem("exchange");
  EXPECT_EQ(problem.complete({{"n", 5}}).at("rounds"), 1);
  for (const Params& sizes : std::vector<Params>{{},
                                                 {{"n", 0}},
                                                 {{"n", -1}},
                                                 {{"n", (std::int64_t{1} << 28) + 1}},
                                                 {{"n", 5}, {"rounds", 0}},
                                                 {{"n", 5}, {"rounds", (1 << 16) + 1}}})
    EXPECT_THROW(problem.complete(sizes), Error) << sizes.text();
}

// ---- The judge of the sum ----

struct Summed {
  const Problem& problem = find_problem("sum");
  Params sizes;
  Operands host;
  Judge judge;
  Summed(int n, const DataSet& fill)
      : sizes(problem.complete({{"n", n}})), host(problem, sizes, fill), judge(host.judge(problem, sizes, fill)) {
    for (const float x : host.arrays[0]) sum() += x;
  }
  bool passes() { return host.passes(judge); }
  float& sum() { return host.arrays[1][0]; }
};

TEST(SumOracle, PassesASumInOrder) {
  for (const int n : {1, 2, 3, 1000, 65537, 1 << 22})
    for (const DataSet& fill : {integers(), random_reals()}) EXPECT_TRUE(Summed(n, fill).passes()) << n;
}

TEST(SumOracle, FailsAWrongSum) {
  for (const int n : {1, 1000, 65537})
    for (const DataSet& fill : {integers(), random_reals()}) {
      for (const float wrong : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
        Summed of(n, fill);
        of.sum() = wrong;
        EXPECT_FALSE(of.passes()) << n;
      }
      Summed more(n, fill);
      more.sum() += fill.is_exact ? 1.0f : 1e-2f * static_cast<float>(n);
      EXPECT_FALSE(more.passes()) << n;
    }
}

/// The sum of a single number has no rounding error, and so no tolerance.
TEST(SumOracle, ASingleElementIsExact) {
  Summed of(1, random_reals());
  of.sum() = std::nextafter(of.sum(), 2.0f);
  EXPECT_FALSE(of.passes());
}

TEST(SumOracle, RefusesSizesThatItCannotJudge) {
  for (const Params& sizes : std::vector<Params>{{}, {{"n", 0}}, {{"n", -3}}, {{"n", (1 << 30) + 1}}})
    EXPECT_THROW(find_problem("sum").complete(sizes), Error) << sizes.text();
}

/// (block barriers, warp barriers, shuffles) of a warp in each round.
TEST(BarrierKernels, WaitAsOftenAsTheySay) {
  const std::map<std::string, std::tuple<double, double, double>> expected = {
      {"gpu/exchange/global_memory", {2, 0, 0}}, {"gpu/exchange/block_barriers", {2, 0, 0}},
      {"gpu/exchange/double_buffer", {1, 0, 0}}, {"gpu/exchange/warp_barriers", {0, 2, 0}},
      {"gpu/exchange/shuffle", {0, 0, 1}},
  };
  for (const Kernel* kernel : match_kernels("gpu/exchange/*"))
    for (const auto& [block, word] : kernel->tunables.front().values) {
      SCOPED_TRACE(kernel->name);
      ASSERT_TRUE(expected.contains(kernel->name)) << "a kernel that this test does not know";
      constexpr int kElements = 1000, kRounds = 7;
      const Counts counts = count(point_of(*kernel, {{"n", kElements}, {"rounds", kRounds}, {"block", block}})).counts;
      const double warp_rounds = kRounds * static_cast<double>((kElements + block - 1) / block * block / 32);
      EXPECT_EQ(
          std::tuple(counts.barriers / warp_rounds, counts.warp_barriers / warp_rounds, counts.shuffles / warp_rounds),
          expected.at(kernel->name));
    }
}

}  // namespace
}  // namespace rung
