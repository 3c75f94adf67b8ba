/// The general product C = alpha A B + beta C: the sizes that it takes, every general CPU kernel of the registry with
/// them, what aliases, what is not finite, and faults that its judge must find.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>

#include "common/harness/workload.hpp"
#include "common/machine/target.hpp"
#include "common/problem/matmul.hpp"

namespace rung {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

Call call_of(const Kernel& kernel, const Params& sizes, std::vector<void*> operands = {}) {
  Call call{.params = with_tunables(kernel, {}), .operands = std::move(operands)};
  for (const auto& [name, value] : sizes) call.params.set(name, value);
  return call;
}

/// The general CPU kernels of a problem that this machine can run.
std::vector<const Kernel*> general_kernels(Type type) {
  const Params sizes = find_problem("matmul", type).complete({{"n", 64}, {"beta", 1}});
  std::vector<const Kernel*> all;
  for (const Kernel* kernel : match_kernels("cpu/matmul/*"))
    if (kernel->type == type && kernel->is_general && refusal(*kernel, call_of(*kernel, sizes).params).empty())
      all.push_back(kernel);
  EXPECT_FALSE(all.empty()) << type_name(type);
  return all;
}

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// --- sizes --------------------------------------------------------------------------------------------------------

TEST(GeneralSizes, OnlyThoseThatDifferFromAPlainProductAreKeptAndShown) {
  const Problem& matmul = find_problem("matmul");
  const Params plain = matmul.complete({{"n", 64}});
  EXPECT_EQ(matmul.complete({{"n", 64}, {"lda", 64}, {"alpha", 1}, {"beta", 0}, {"shift", 0}}), plain);
  EXPECT_EQ(matmul.brief(plain).text(), "n:64");
  EXPECT_EQ(matmul.unusual(plain), "");
  const Params general = matmul.complete({{"beta", 2}, {"n", 64}, {"lda", 80}});
  EXPECT_EQ(matmul.brief(general).text(), "n:64/lda:80/beta:2");
  EXPECT_EQ(matmul.unusual(general), "lda, beta");
  const Params rectangular = matmul.complete({{"m", 3}, {"n", 5}, {"k", 7}, {"ldc", 6}, {"alpha", 0}, {"shift", 63}});
  EXPECT_EQ(matmul.brief(rectangular).text(), "m:3/n:5/k:7/ldc:6/alpha:0/shift:63");
  EXPECT_EQ(matmul.complete(matmul.brief(rectangular)), rectangular);
}

TEST(GeneralSizes, BadOnesAreRefusedByName) {
  const std::vector<std::pair<Params, std::string>> bad = {
      {{{"n", 64}, {"lda", 63}}, "size lda = 63 is outside 64.."},
      {{{"n", 64}, {"m", 9}, {"k", 8}, {"ldb", 8}}, "size ldb = 8 is outside 64.."},
      {{{"n", 64}, {"ldc", -64}}, "size ldc = -64 is outside 64.."},
      {{{"n", 64}, {"ldc", 65536}}, "size ldc = 65536 is outside 64..65535"},
      {{{"n", 64}, {"ldc", std::int64_t{1} << 62}}, "size ldc = "},
      {{{"n", 64}, {"alpha", 9}}, "size alpha = 9 is outside -8..8"},
      {{{"n", 64}, {"beta", -9}}, "size beta = -9 is outside -8..8"},
      {{{"n", 64}, {"shift", 64}}, "size shift = 64 is outside 0..63"},
      {{{"n", 64}, {"shift", -1}}, "size shift = -1 is outside 0..63"},
      {{{"n", 0}, {"beta", 1}}, "size n = 0 is outside 1.."},
  };
  for (const Type type : {Type::fp32, Type::bf16})
    for (const auto& [sizes, message] : bad)
      EXPECT_EQ(message_of([&, &given = sizes] { find_problem("matmul", type).complete(given); }).find(message), 0u)
          << sizes.text();
}

TEST(GeneralSizes, OperandsReachFromTheShiftToTheLastElement) {
  const Params sizes{{"m", 3}, {"n", 5}, {"k", 7}, {"lda", 10}, {"ldb", 6}, {"ldc", 9}, {"shift", 2}};
  for (const Type type : {Type::fp32, Type::bf16}) {
    const Problem& problem = find_problem("matmul", type);
    const std::size_t bytes = type_bytes(type);
    const std::vector<Operand> operands = problem.operands(problem.complete(sizes));
    EXPECT_EQ(operands[0].bytes(), (2u + 2 * 10 + 7) * bytes);
    EXPECT_EQ(operands[1].bytes(), (2u + 6 * 6 + 5) * bytes);
    EXPECT_EQ(operands[2].bytes(), (2u + 2 * 9 + 5) * 4);
    EXPECT_FALSE(operands[2].is_input());
    const std::vector<Operand> read = problem.operands(problem.complete({{"n", 5}, {"beta", -1}}));
    EXPECT_TRUE(read[2].is_input() && read[2].is_output());
  }
}

TEST(GeneralSizes, OperationsAndBytesFollowTheFactors) {
  const auto flops = [](const Params& p) { return find_problem("matmul").flops(p); };
  const auto bytes = [](Type type, const Params& p) { return find_problem("matmul", type).bytes_min(p); };
  const Params shape{{"m", 3}, {"n", 5}, {"k", 7}};
  const auto with = [&](Params extra) {
    Params all = shape;
    for (const auto& [name, value] : extra) all.set(name, value);
    return all;
  };
  EXPECT_EQ(flops(shape), 210);
  EXPECT_EQ(flops(with({{"beta", 1}})), 210 + 30);
  EXPECT_EQ(flops(with({{"alpha", 2}, {"lda", 100}})), 210 + 15);
  EXPECT_EQ(flops(with({{"alpha", 0}, {"beta", 3}})), 30);
  EXPECT_EQ(bytes(Type::fp32, shape), 4.0 * (21 + 35 + 15));
  EXPECT_EQ(bytes(Type::fp32, with({{"beta", 1}, {"ldc", 77}})), 4.0 * (21 + 35 + 30));
  EXPECT_EQ(bytes(Type::fp32, with({{"alpha", 0}})), 4.0 * 15);
  EXPECT_EQ(bytes(Type::bf16, shape), 2.0 * (21 + 35) + 4.0 * 15);
}

TEST(GeneralSizes, KernelsThatAreNotGeneralSayWhy) {
  int others = 0;
  for (const Kernel& kernel : kernels()) {
    if (kernel.family() != "matmul" || kernel.is_general) continue;
    ++others;
    const Params sizes = find_problem("matmul").complete({{"n", 64}, {"lda", 65}});
    const std::string reason = refusal(kernel, call_of(kernel, sizes).params);
    EXPECT_NE(reason.find("lda"), std::string::npos) << kernel.name << ": " << reason;
  }
  EXPECT_GT(others, 0);
}

TEST(Bf16, RoundsToTheNearestEven) {
  EXPECT_EQ(to_bf16(1.0f), 0x3F80);
  EXPECT_EQ(to_bf16(1.0f + 0x1p-8f), 0x3F80) << "a tie, down to even";
  EXPECT_EQ(to_bf16(1.0f + 3 * 0x1p-8f), 0x3F82) << "a tie, up to even";
  EXPECT_EQ(to_bf16(1.0f + 0x1.01p-8f), 0x3F81);
  EXPECT_EQ(to_bf16(-kInf), 0xFF80);
  EXPECT_EQ(to_bf16(std::numeric_limits<float>::max()), 0x7F80);
  EXPECT_TRUE(std::isnan(from_bf16(to_bf16(kNan))));
  std::uint32_t bits = 0x7F800001;  // a NaN whose upper half is an infinity's
  float odd = 0;
  std::memcpy(&odd, &bits, sizeof odd);
  EXPECT_TRUE(std::isnan(from_bf16(to_bf16(odd))));
  for (std::uint32_t x = 0; x < 0x10000; ++x)
    if (const float wide = from_bf16(static_cast<Bf16>(x)); !std::isnan(wide)) {
      EXPECT_EQ(to_bf16(wide), x);
    }
}

// --- every general kernel -------------------------------------------------------------------------------------------

/// The error of a kernel at these sizes: verified on both fills, then again as after timing.
std::string failure(Target& host, const Kernel& kernel, const Params& given) {
  const Problem& problem = problem_of(kernel);
  const Params sizes = problem.complete(given);
  Workload work(host, kernel, problem, call_of(kernel, sizes));
  for (const DataSet& fill : {integers(), random_reals()}) {
    const HostInputs inputs(problem, sizes, fill, 7);
    const Check first = work.verify(inputs);
    if (!first.passed()) return first.failure.empty() ? "error beyond its bound" : first.failure;
    host.run(kernel, work.call());
    const Check again = work.recheck(inputs);
    if (!again.passed()) return "again: " + again.failure;
  }
  return "";
}

class GeneralKernels : public testing::TestWithParam<Type> {
 protected:
  /// The suite's own kernels treat special values as the definition does. BLAS leaves it open to a library, and some do
  /// not: noted, never failed.
  void expect_none(const std::string& difference, const Kernel& kernel, const std::string& where) {
    if (kernel.is_library && !difference.empty())
      deviations.insert(kernel.name);
    else
      EXPECT_EQ(difference, "") << kernel.name << " " << where;
  }
  void TearDown() override {
    std::string names;
    for (const std::string& name : deviations) names += " " + name;
    if (!names.empty() && !HasFailure())
      GTEST_SKIP() << "libraries that treat special values in their own way:" << names;
  }
  std::set<std::string> deviations;
  const std::unique_ptr<Target> host = open_host();
};

TEST_P(GeneralKernels, AreRightWithAnyFactors) {
  const std::vector<Params> shapes = {{{"m", 17}, {"n", 33}, {"k", 9}}, {{"n", 70}, {"lda", 71}, {"ldc", 75}}};
  for (const Kernel* kernel : general_kernels(GetParam()))
    for (const Params& shape : shapes)
      for (const std::int64_t alpha : {0, 1, 2, -1})
        for (const std::int64_t beta : {0, 1, -3}) {
          Params sizes = shape;
          sizes.set("alpha", alpha);
          sizes.set("beta", beta);
          EXPECT_EQ(failure(*host, *kernel, sizes), "") << kernel->name << " " << sizes.text();
        }
}

TEST_P(GeneralKernels, AreRightInPartsOfLargerMatricesAndUnaligned) {
  const std::vector<Params> shapes = {
      {{"n", 1}},
      {{"m", 1}, {"n", 67}, {"k", 45}},
      {{"m", 67}, {"n", 1}, {"k", 45}},
      {{"m", 67}, {"n", 45}, {"k", 1}},
      {{"m", 33}, {"n", 129}, {"k", 70}},
      {{"m", 160}, {"n", 31}, {"k", 257}},
  };
  for (const Kernel* kernel : general_kernels(GetParam()))
    for (const Params& shape : shapes)
      for (const std::int64_t shift : {0, 1, 3, 63})
        for (const std::int64_t more : {0, 1, 5, 64}) {
          Params sizes = find_problem("matmul").complete(shape);
          for (const auto& [ld, width] : {std::pair{"lda", "k"}, {"ldb", "n"}, {"ldc", "n"}})
            sizes.set(ld, sizes.at(width) + more);
          sizes.set("shift", shift);
          sizes.set("beta", more % 2);
          if (kernel->is_library && kernel->refuse && !kernel->refuse(sizes).empty()) continue;
          EXPECT_EQ(failure(*host, *kernel, sizes), "") << kernel->name << " " << sizes.text();
        }
}

TEST_P(GeneralKernels, RefuseAnOutputThatOverlapsAnInput) {
  const std::size_t input = type_bytes(GetParam());
  const Params sizes{{"m", 8}, {"n", 8}, {"k", 8}};
  std::vector<float> memory(1024);
  auto* const start = reinterpret_cast<char*>(memory.data());
  char *const a = start, *const b = start + 2048;
  char *const after_a = a + 64 * input, *const before_b = b - 64 * sizeof(float);
  for (const Kernel* kernel : general_kernels(GetParam())) {
    const auto message = [&](void* c) { return message_of([&] { kernel->run(call_of(*kernel, sizes, {a, b, c})); }); };
    EXPECT_EQ(message(after_a), "") << kernel->name;
    EXPECT_EQ(message(before_b), "") << kernel->name;
    EXPECT_NE(message(after_a - sizeof(float)).find("C shares memory with A"), std::string::npos) << kernel->name;
    EXPECT_NE(message(before_b + sizeof(float)).find("C shares memory with B"), std::string::npos) << kernel->name;
    EXPECT_NE(message(b).find("C shares memory with B"), std::string::npos) << kernel->name;
  }
}

/// Operands of a product with special values among them, and the result by the definition, in float64.
struct Special {
  const Problem& problem;
  Params sizes;
  int m, n, k;
  std::vector<float> a, b, c;
  Special(Type type, const Params& given) : problem(find_problem("matmul", type)), sizes(problem.complete(given)) {
    const MatmulShape shape = matmul_shape(sizes);
    m = shape.m, n = shape.n, k = shape.k;
    a.resize(std::size_t(m) * k);
    b.resize(std::size_t(k) * n);
    c.resize(std::size_t(m) * n);
    fill_float(a, integers(), 1);
    fill_float(b, integers(), 2);
    fill_float(c, integers(), 3);
  }
  std::vector<float> result(const Kernel& kernel) const {
    std::vector<float> out = c;
    std::vector<Bf16> narrow_a(a.size()), narrow_b(b.size());
    std::transform(a.begin(), a.end(), narrow_a.begin(), to_bf16);
    std::transform(b.begin(), b.end(), narrow_b.begin(), to_bf16);
    const bool is_narrow = problem.type == Type::bf16;
    const auto pointer = [&](const std::vector<float>& wide, const std::vector<Bf16>& narrow) -> void* {
      return is_narrow ? static_cast<void*>(const_cast<Bf16*>(narrow.data())) : const_cast<float*>(wide.data());
    };
    kernel.run(call_of(kernel, sizes, {pointer(a, narrow_a), pointer(b, narrow_b), out.data()}));
    return out;
  }
  double expected(int row, int col) const {
    const double alpha = double(sizes.get("alpha", 1)), beta = double(sizes.get("beta", 0));
    double sum = 0;
    for (int i = 0; i < k && alpha != 0; ++i) sum += double(a[row * k + i]) * b[i * n + col];
    return (alpha == 0 ? 0 : alpha * sum) + (beta == 0 ? 0 : beta * c[row * n + col]);
  }
  /// Every element that differs from the definition's, NaN being equal to NaN.
  std::string difference(const Kernel& kernel) const {
    const std::vector<float> out = result(kernel);
    for (int row = 0; row < m; ++row)
      for (int col = 0; col < n; ++col) {
        const double got = out[row * n + col], want = expected(row, col);
        if (!(got == want || (std::isnan(got) && std::isnan(want))))
          return "C[" + std::to_string(row) + "][" + std::to_string(col) + "] is " + std::to_string(got) + ", not " +
                 std::to_string(want);
      }
    return "";
  }
};

TEST_P(GeneralKernels, NanAndInfinityGoWhereTheDefinitionSendsThemAndNowhereElse) {
  for (const Kernel* kernel : general_kernels(GetParam()))
    for (const int k : {1, 37})
      for (const float special : {kNan, kInf, -kInf})
        for (const std::int64_t beta : {0, 2}) {
          const Params sizes{{"m", 19}, {"n", 37}, {"k", k}, {"beta", beta}};
          Special in_a(GetParam(), sizes), in_b(GetParam(), sizes), in_c(GetParam(), sizes), zeros(GetParam(), sizes);
          std::fill_n(in_a.a.begin() + 5 * k, k, special);
          for (int i = 0; i < k; ++i) in_b.b[i * 37 + 36] = special;
          in_c.c[18 * 37 + 36] = special;  // with beta = 0 it must not show
          zeros.a[3 * k] = special;
          std::fill_n(zeros.b.begin(), 37, 0.0f);  // infinity times zero
          for (const Special* test : {&in_a, &in_b, &in_c, &zeros})
            expect_none(test->difference(*kernel), *kernel,
                        "k:" + std::to_string(k) + " beta:" + std::to_string(beta) + " special " +
                            std::to_string(special) + " in case " +
                            (test == &in_a   ? "A"
                             : test == &in_b ? "B"
                             : test == &in_c ? "C"
                                             : "zeros"));
        }
}

TEST_P(GeneralKernels, ReadNothingThatTheFactorsLeaveOut) {
  for (const Kernel* kernel : general_kernels(GetParam()))
    for (const std::int64_t beta : {0, 1, -3}) {
      Special none(GetParam(), {{"n", 35}, {"alpha", 0}, {"beta", beta}});
      std::fill(none.a.begin(), none.a.end(), kNan);
      std::fill(none.b.begin(), none.b.end(), kInf);
      if (beta == 0) std::fill(none.c.begin(), none.c.end(), kNan);
      expect_none(none.difference(*kernel), *kernel, "beta:" + std::to_string(beta));
    }
}

TEST_P(GeneralKernels, NegativeZeroIsZero) {
  for (const Kernel* kernel : general_kernels(GetParam())) {
    Special zero(GetParam(), {{"n", 21}, {"beta", 1}});
    std::fill(zero.a.begin(), zero.a.end(), -0.0f);
    zero.b[7] = kInf;
    zero.c[0] = -0.0f;
    expect_none(zero.difference(*kernel), *kernel, "");
  }
}

INSTANTIATE_TEST_SUITE_P(Problems, GeneralKernels, testing::Values(Type::fp32, Type::bf16),
                         [](const auto& info) { return std::string(type_name(info.param)); });

/// Only FP32: matrix units for bfloat16 take subnormals for zero.
TEST(GeneralFp32, SubnormalsAreNotFlushed) {
  const float tiny = 3 * std::numeric_limits<float>::denorm_min();
  for (const Kernel* kernel : general_kernels(Type::fp32)) {
    Special in_a(Type::fp32, {{"m", 19}, {"n", 21}, {"k", 1}}), in_c(Type::fp32, {{"n", 21}, {"beta", 2}});
    std::fill(in_a.a.begin(), in_a.a.end(), tiny);
    std::fill(in_c.a.begin(), in_c.a.end(), 0.0f);
    std::fill(in_c.c.begin(), in_c.c.end(), tiny);
    EXPECT_EQ(in_a.difference(*kernel), "") << kernel->name;
    EXPECT_EQ(in_c.difference(*kernel), "") << kernel->name;
    EXPECT_NE(in_c.result(*kernel)[0], 0) << kernel->name;
  }
}

// --- the judge -------------------------------------------------------------------------------------------------------

/// A general product that is right except for one fault.
enum class Fault {
  none,
  ldc_ignored,
  lda_ignored,
  beta_doubled,
  beta_dropped,
  alpha_dropped,
  alpha_on_both,
  shift_ignored,
  gap_overwritten,
  before_overwritten,
  gap_read
};

template <typename Input>
void faulty_product(const Call& call, Fault fault) {
  Matmul<Input> it = matmul_of<Input>(call);
  const std::int64_t shift = call.params.get("shift", 0);
  if (fault == Fault::ldc_ignored) it.ldc = it.n;
  if (fault == Fault::lda_ignored) it.lda = it.k;
  if (fault == Fault::beta_doubled) it.beta *= 2;
  if (fault == Fault::beta_dropped) it.beta = 0;
  if (fault == Fault::alpha_dropped) it.alpha = 1;
  if (fault == Fault::shift_ignored) it.c -= shift;
  const auto wide = [](Input x) {
    if constexpr (sizeof(Input) == 2)
      return from_bf16(x);
    else
      return x;
  };
  for (std::int64_t row = 0; row < it.m; ++row)
    for (std::int64_t col = 0; col < it.n; ++col) {
      float sum = 0;
      for (std::int64_t i = 0; i < it.k + (fault == Fault::gap_read ? 1 : 0); ++i)
        sum += wide(it.a[row * it.lda + i]) * (i < it.k ? wide(it.b[i * it.ldb + col]) : 0);
      float& to = it.c[row * it.ldc + col];
      const float before = it.beta == 0 ? 0 : it.beta * to;
      to = fault == Fault::alpha_on_both ? it.alpha * (sum + before) : it.alpha * sum + before;
    }
  if (fault == Fault::gap_overwritten) it.c[it.ldc + it.n] = 0;
  if (fault == Fault::before_overwritten) it.c[-1] = 0;
}

std::string verdict(Type type, const Params& given, Fault fault) {
  Kernel kernel;
  kernel.name = "cpu/matmul/faulty";
  kernel.type = type;
  kernel.run = [&](const Call& call) {
    type == Type::fp32 ? faulty_product<float>(call, fault) : faulty_product<Bf16>(call, fault);
  };
  return failure(*open_host(), kernel, given);
}

TEST(GeneralJudge, FindsPlantedFaults) {
  const Params sizes{{"m", 20},   {"n", 21},    {"k", 22},   {"lda", 25}, {"ldb", 24},
                     {"ldc", 23}, {"alpha", 2}, {"beta", 3}, {"shift", 5}};
  for (const Type type : {Type::fp32, Type::bf16}) {
    EXPECT_EQ(verdict(type, sizes, Fault::none), "");
    for (const Fault fault : {Fault::ldc_ignored, Fault::lda_ignored, Fault::beta_doubled, Fault::beta_dropped,
                              Fault::alpha_dropped, Fault::alpha_on_both, Fault::shift_ignored, Fault::gap_overwritten,
                              Fault::before_overwritten, Fault::gap_read})
      EXPECT_NE(verdict(type, sizes, fault), "") << type_name(type) << ", fault " << static_cast<int>(fault);
    EXPECT_NE(verdict(type, sizes, Fault::gap_overwritten).find("wrote to C outside its rows"), std::string::npos);
    EXPECT_NE(verdict(type, sizes, Fault::before_overwritten).find("wrote to C outside its rows"), std::string::npos);
  }
}

TEST(GeneralJudge, AFaultOfLaterRunsIsFoundWhereTheOutputIsRead) {
  int runs = 0;
  Kernel kernel;
  kernel.name = "cpu/matmul/faulty";
  kernel.run = [&](const Call& call) { faulty_product<float>(call, ++runs > 2 ? Fault::beta_doubled : Fault::none); };
  const Problem& problem = find_problem("matmul");
  const Params sizes = problem.complete({{"n", 20}, {"beta", 1}});
  const auto host = open_host();
  Workload work(*host, kernel, problem, call_of(kernel, sizes));
  const HostInputs inputs(problem, sizes, random_reals(), 7);
  EXPECT_TRUE(work.verify(inputs).passed());
  EXPECT_TRUE(work.recheck(inputs).passed());
  EXPECT_FALSE(work.recheck(inputs).passed());
}

TEST(GeneralJudge, AnInputOrAGuardThatTimedRunsChangedIsFoundBeforeItIsRestored) {
  const Problem& problem = find_problem("matmul");
  const Params sizes = problem.complete({{"n", 20}, {"beta", 1}});
  const auto host = open_host();
  Kernel kernel;
  kernel.name = "cpu/matmul/faulty";
  kernel.run = [](const Call& call) { faulty_product<float>(call, Fault::none); };
  Workload work(*host, kernel, problem, call_of(kernel, sizes));
  const HostInputs inputs(problem, sizes, random_reals(), 7);
  ASSERT_TRUE(work.verify(inputs).passed());
  work.call().operand<float>(1)[3] = 5;
  EXPECT_NE(work.recheck(inputs).failure.find("changed its input B"), std::string::npos);
  ASSERT_TRUE(work.verify(inputs).passed());
  work.call().operand<float>(2)[400] = 5;
  EXPECT_NE(work.recheck(inputs).failure.find("wrote outside C"), std::string::npos);
}

/// Sums rounded to bfloat16 as they grow, and inputs of float32 where bfloat16 was stored, are not the requested
/// product.
TEST(Bf16Judge, FailsNarrowSums) {
  Kernel kernel;
  kernel.name = "cpu/matmul/faulty_bf16";
  kernel.type = Type::bf16;
  kernel.run = [](const Call& call) {
    const auto it = matmul_of<Bf16>(call);
    for (int row = 0; row < it.m; ++row)
      for (int col = 0; col < it.n; ++col) {
        float sum = 0;
        for (int i = 0; i < it.k; ++i)
          sum = from_bf16(to_bf16(sum + from_bf16(it.a[row * it.lda + i]) * from_bf16(it.b[i * it.ldb + col])));
        it.c[row * it.ldc + col] = sum;
      }
  };
  EXPECT_NE(failure(*open_host(), kernel, {{"n", 40}}), "");
}

}  // namespace
}  // namespace rung
