/// The accuracy of functions: the judge evaluates the exact result again where a kernel says that it was worst, and
/// holds the error against the bound that the implementation has declared. Half a unit in the last place is the least
/// that a float32 can be off.
#include <algorithm>
#include <bit>
#include <iterator>
#include <vector>

#include "common/problem/math.hpp"
#include "common/problem/problem.hpp"

namespace rung {
namespace {

constexpr std::int64_t kPatterns = std::int64_t{1} << 32;

/// All but `none`, which has no error.
std::vector<Value> function_words() {
  std::vector<Value> all = math_function_words();
  all.pop_back();
  return all;
}

Params complete(const Params& given) {
  if (!given.has("function")) throw Error("size 'function' is not given: exp, sin, pow …");
  const std::int64_t n = positive_size(given, "n", "n", kPatterns);
  if (!std::has_single_bit(static_cast<std::uint64_t>(n)))
    throw Error("size n = " + std::to_string(n) + " is not a power of two");
  return {{"function", given.value("function")}, {"n", n}};
}

std::vector<Operand> operands(const Params& sizes) {
  const auto rows = static_cast<std::size_t>(math_error_rows(sizes));
  return {{.name = "worst", .elements = rows * kMathWorst * 3, .role = Role::output},
          {.name = "bound", .elements = rows, .type = Type::fp64, .role = Role::output},
          {.name = "counts", .elements = rows * kMathCounts, .type = Type::uint32, .role = Role::output}};
}

/// What a kernel handed in.
struct Report {
  const float* worst;
  const double* bound;
  const std::uint32_t* counts;
  std::int64_t rows;

  MathSample sample(MathWorst kind, std::int64_t row) const {
    const auto component = [&](int c) { return worst[(kind * 3 + c) * rows + row]; };
    return {0, component(0), component(1), component(2)};
  }
  std::uint32_t count(MathCount which, std::int64_t row) const { return counts[which * rows + row]; }
};

/// What is wrong with a row's counts; empty if nothing is.
std::string count_failure(const Report& report, std::int64_t row, std::int64_t per_row) {
  const auto count = [&](MathCount which) { return std::int64_t{report.count(which, row)}; };
  const std::string where = "row " + std::to_string(row) + " ";
  if (count(kEvaluated) != per_row)
    return where + "evaluated " + std::to_string(count(kEvaluated)) + " arguments, not " + std::to_string(per_row);
  if (count(kCompared) + count(kSpecials) > per_row || count(kInside) > count(kCompared) ||
      count(kNotRounded) > count(kCompared) || count(kSpecialsInside) > count(kSpecials))
    return where + "has counts that contradict each other";
  return "";
}

/// The worst of all rows, as the judge sees it.
struct Verdict {
  MathErrors all;
  double ratio = 0;
  std::string failure;
};

template <MathFunction kFunction>
class Reader {
 public:
  explicit Reader(const Report& report) : report_(report) {}

  Verdict read(std::int64_t first, std::int64_t end, std::int64_t per_row) {
    for (std::int64_t row = first; row < end && verdict_.failure.empty(); ++row) {
      verdict_.failure = count_failure(report_, row, per_row);
      if (verdict_.failure.empty()) read_row(row);
    }
    return verdict_;
  }

 private:
  void read_row(std::int64_t row) {
    if (report_.count(kCompared, row) > 0) error_of(kWorstEverywhere, row);
    if (report_.count(kInside, row) > 0) {
      error_of(kWorstUlps, row);
      error_of(kWorstAbsolute, row);
      const double error = error_of(kWorstRatio, row), bound = report_.bound[row];
      if (!(bound < kNoBound)) fail(row, "has no bound where it says that there is one");
      const double ratio = error == 0 ? 0 : error / bound;
      if (!(ratio <= verdict_.ratio)) verdict_.ratio = ratio;
      if (!(ratio <= 1)) verdict_.failure = text(report_.sample(kWorstRatio, row));
    }
    if (report_.count(kSpecialsInside, row) > 0) verdict_.failure = text(report_.sample(kSpecial, row));
  }

  /// The absolute error where the row says that it is worst; kept if it is the worst of all rows.
  double error_of(MathWorst kind, std::int64_t row) {
    MathSample sample = report_.sample(kind, row);
    if constexpr (!is_binary(kFunction)) {  // pow and divide make their pairs from more than the place
      const auto place = std::uint64_t{std::bit_cast<std::uint32_t>(sample.x)};
      if (static_cast<std::int64_t>(place * static_cast<std::uint64_t>(report_.rows) >> 32) != row)
        fail(row, "names an argument that is not its own");
    }
    const double want = clipped(exact<kFunction>(sample.x, sample.y));
    const double error = std::abs(clipped(sample.result) - want);
    if (std::isnan(error)) fail(row, "names NaN as its worst");
    sample.size = kind == kWorstAbsolute ? error : error / ulp(want);
    if (sample.size > verdict_.all.worst[kind].size) verdict_.all.worst[kind] = sample;
    return error;
  }

  void fail(std::int64_t row, const std::string& how) { verdict_.failure = "row " + std::to_string(row) + " " + how; }

  static std::string text(const MathSample& s) {
    const std::string second = is_binary(kFunction) ? ", " + std::to_string(s.y) : "";
    return wrong_element("result at (" + std::to_string(s.x) + second + ") of bits ", std::bit_cast<std::int32_t>(s.x),
                         s.result, exact<kFunction>(s.x, s.y));
  }

  Report report_;
  Verdict verdict_;
};

/// The verdict on all rows: threads read parts of them, and the first failure is the one of the first part that failed.
template <MathFunction kFunction>
Verdict read_all(const Report& report, std::int64_t per_row) {
  constexpr std::int64_t kPart = 1024;
  std::vector<Verdict> parts(static_cast<std::size_t>((report.rows + kPart - 1) / kPart));
#pragma omp parallel for schedule(dynamic)
  for (std::size_t part = 0; part < parts.size(); ++part) {
    const auto first = static_cast<std::int64_t>(part) * kPart;
    parts[part] = Reader<kFunction>(report).read(first, std::min(first + kPart, report.rows), per_row);
  }
  Verdict all;
  for (const Verdict& part : parts) {
    if (all.failure.empty()) all.failure = part.failure;
    all.ratio = std::max(all.ratio, part.ratio);
    for (std::size_t kind = 0; kind < std::size(part.all.worst); ++kind)
      if (part.all.worst[kind].size > all.all.worst[kind].size) all.all.worst[kind] = part.all.worst[kind];
  }
  return all;
}

double total(const Report& report, MathCount which) {
  double sum = 0;
  for (std::int64_t row = 0; row < report.rows; ++row) sum += report.count(which, row);
  return sum;
}

struct Measured {
  static constexpr bool has(MathFunction f) { return f != MathFunction::none; }
};

Check judge(const Report& report, MathFunction function, std::int64_t n) {
  Verdict verdict;
  with_math_function<Measured>(function, [&](auto f) { verdict = read_all<f>(report, n / report.rows); });
  Check check{.max_error_ratio = verdict.ratio, .failure = verdict.failure};
  if (!check.failure.empty()) return check;
  const auto& worst = verdict.all.worst;
  check.judged = {{"max_ulp_everywhere", worst[kWorstEverywhere].size},
                  {"max_ulp_everywhere_at", worst[kWorstEverywhere].x},
                  {"share_bounded", total(report, kInside) / static_cast<double>(n)},
                  {"share_not_rounded", total(report, kNotRounded) / std::max(total(report, kCompared), 1.0)},
                  {"special_mismatches", total(report, kSpecials)}};
  if (total(report, kInside) > 0) {
    check.judged["max_ulp"] = worst[kWorstUlps].size;
    check.judged["max_ulp_at"] = worst[kWorstUlps].x;
    check.judged["max_abs_error"] = worst[kWorstAbsolute].size;
  }
  return check;
}

Judge reference(const Params& sizes, const DataSet&, std::uint64_t, std::span<const void* const>) {
  return [rows = math_error_rows(sizes), f = math_function(sizes),
          n = sizes.at("n")](std::span<const void* const> outputs) {
    return judge({static_cast<const float*>(outputs[0]), static_cast<const double*>(outputs[1]),
                  static_cast<const std::uint32_t*>(outputs[2]), rows},
                 f, n);
  };
}

std::vector<Params> test_sizes() {
  std::vector<Params> all;
  for (const Value& word : function_words()) all.push_back({{"function", word}, {"n", 4096}});
  all.push_back({{"function", function_words()[0]}, {"n", 1}});
  all.push_back({{"function", function_words()[6]}, {"n", 128}});
  return all;
}

const bool added = add_problem({
    .family = "math_error",
    .title = "Accuracy of mathematical functions",
    .metric = {.key = "arguments_per_s",
               .unit = "argument/s",
               .amount = [](const Params& p) { return 1e9 * static_cast<double>(p.at("n")); }},
    .data = {{"patterns", "bit patterns of float32, evenly"}},
    .size_names = {"function", "n"},
    .size_words = {{"function", function_words()}},
    .test_sizes = test_sizes(),
    .complete = complete,
    .operands = operands,
    .flops = [](const Params&) { return 0.0; },
    .fill = [](const Params&, const DataSet&, std::uint64_t, std::span<void* const>) {},
    .reference = reference,
});

}  // namespace
}  // namespace rung
